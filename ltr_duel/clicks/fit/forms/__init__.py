"""The forms of click models that can be fitted. Each module has the equations of one form."""

from __future__ import annotations

from ltr_duel.clicks.fit.forms import cascade, dbn, pbm, sdbn, table, ubm

FORMS = {form.name: form for form in (pbm.FORM, cascade.FORM, dbn.FORM, sdbn.FORM, ubm.FORM, table.FORM)}

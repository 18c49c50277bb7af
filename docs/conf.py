"""The site (``make docs``): the pages of this folder, and a reference that the extensions in ``_ext`` write."""

from __future__ import annotations

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

import ltr_duel

os.environ["LTR_DUEL_PROGRESS"] = "0"  # also in the notebooks

project = "ltr_duel"
author = "The ltr_duel developers"
project_copyright = author
release = version = ltr_duel.__version__
language = "en"

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "myst_nb",
    "names",  # `name` in a docstring becomes a link if it is a public name
    "api_pages",
    "command_pages",
    "component_pages",
    "mathtext",  # formulas as pictures, because the site loads no script from elsewhere
    "accessible",
    "whole_site",  # checks links, anchors, and external resources after the build
]
exclude_patterns = ["_build", "_ext", "**/.ipynb_checkpoints"]
suppress_warnings = ["misc.highlighting_failure"]  # requests of the HTTP service are shown without their headers
nitpicky = True
nitpick_ignore = [
    ("py:exc", "jinja2.UndefinedError"),  # a name of another project
    ("py:class", "ltr_duel.clicks.model.FamilyParams"),  # private defaults of public fields
    ("py:class", "ltr_duel.core.components.NoParams"),
    ("py:class", "Condition"),
    ("py:class", "Controls"),
]

# Markdown and notebooks. A notebook runs again only if its text changed; results are stored next to the built site.
myst_enable_extensions = ["deflist", "dollarmath"]
myst_dmath_allow_labels = False
html_math_renderer = "mathtext"
myst_heading_anchors = 4
nb_execution_mode = "cache"
nb_execution_cache_path = str(Path(__file__).parent / "_build" / "notebooks")
nb_execution_raise_on_error = True
nb_execution_in_temp = True
nb_execution_timeout = 300
nb_merge_streams = True
nb_execution_show_tb = True

# Docstrings are numpydoc. Types in them are words ("array of float, shape (K, K)"), not links.
autodoc_typehints = "none"
autodoc_preserve_defaults = True
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_param = False
napoleon_use_rtype = False
napoleon_use_ivar = False
napoleon_custom_sections = [("Columns", "params_style")]
default_role = "name"

html_theme = "furo"
html_title = "ltr_duel"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = "_static/icon.svg"
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {"navigation_with_keys": True}
highlight_language = "none"  # a block without a language contains a command or a diagram
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"

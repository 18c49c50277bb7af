"""Yandex's contest Internet Mathematics 2009. Labels are means over several judges, so they have decimals."""

from ltr_duel.data.corpora.corpus import CORPORA, Archive, Corpus

CORPORA.add(
    Corpus(
        name="imat2009",
        title="Yandex IMAT2009",
        grades=5,
        features=245,
        queries=9_124,
        documents=97_290,
        dialect="imat2009",
        labels="round",
        licence="Yandex contest terms",
        terms_url="http://imat2009.yandex.ru/en/datasets",
        archives=(Archive("imat2009_learning.txt"),),
        obtain="The site may no longer exist; save imat2009_learning.txt from its page of data sets",
    )
)

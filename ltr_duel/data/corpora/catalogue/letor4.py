"""LETOR 4.0: the Million Query tracks of TREC 2007 and 2008, as features and as rank lists."""

from ltr_duel.data.corpora.corpus import CORPORA, MICROSOFT, Archive, Corpus

_PAGE = "https://www.microsoft.com/en-us/research/project/letor-learning-rank-information-retrieval/"
_FOLDER = "https://1drv.ms/f/s!Aqi9ONgj3OqPaynoZZSZVfHPJd0"
_MIRROR = "http://www.bigdatalab.ac.cn/benchmark/upload/download_source"

CORPORA.add(
    Corpus(
        name="mq2007",
        title="LETOR 4.0 MQ2007",
        grades=3,
        features=46,
        queries=1_692,
        documents=69_623,
        folds=5,
        dialect="letor",
        licence=MICROSOFT,
        cite="qin2013letor",
        terms_url=_PAGE,
        archives=(
            Archive(
                "MQ2007.rar",
                (f"{_MIRROR}/7b6dbbe2-842c-11e4-a536-bcaec51b9163_MQ2007.rar",),
                digest="md5:7be1640ae95c6408dab0ae7207bdc706",
            ),
        ),
        obtain=f"Open {_FOLDER} in a browser, save MQ2007.rar",
        main_part="MQ2007",
    )
)

CORPORA.add(
    Corpus(
        name="mq2008",
        title="LETOR 4.0 MQ2008",
        grades=3,
        features=46,
        queries=784,
        documents=15_211,
        folds=5,
        dialect="letor",
        licence=MICROSOFT,
        cite="qin2013letor",
        terms_url=_PAGE,
        archives=(
            Archive(
                "MQ2008.rar",
                (
                    "https://s3-us-west-2.amazonaws.com/xgboost-examples/MQ2008.rar",
                    f"{_MIRROR}/edb7cbe2-9d73-11e4-aa78-bcaec51b9163_MQ2008.rar",
                ),
            ),
        ),
        obtain=f"Open {_FOLDER} in a browser, save MQ2008.rar",
        main_part="MQ2008",
    )
)

for _year, _runs in ((2007, 21), (2008, 25)):
    CORPORA.add(
        Corpus(
            name=f"mq{_year}-agg",
            title=f"LETOR 4.0 MQ{_year}-agg, rank lists",
            grades=3,
            features=_runs,
            dialect="letor-agg",
            fill="last",
            licence=MICROSOFT,
            cite="qin2013letor",
            terms_url=_PAGE,
            obtain=f"Open {_FOLDER} in a browser, save MQ{_year}-agg.rar, unpack it",
        )
    )

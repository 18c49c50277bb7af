"""LETOR 4.0: the Million Query tracks of TREC 2007 and 2008, as features and as rank lists."""

from ltr_duel.data.corpora.corpus import CORPORA, MICROSOFT, Archive, Corpus

_PAGE = "https://www.microsoft.com/en-us/research/project/letor-learning-rank-information-retrieval/"
_FOLDER = "https://1drv.ms/f/s!Aqi9ONgj3OqPaynoZZSZVfHPJd0"
_MIRROR = "http://www.bigdatalab.ac.cn/benchmark/upload/download_source"

_2007 = Archive(
    "MQ2007.rar",
    (f"{_MIRROR}/7b6dbbe2-842c-11e4-a536-bcaec51b9163_MQ2007.rar",),
    digest="md5:7be1640ae95c6408dab0ae7207bdc706",
)
_2008 = Archive(
    "MQ2008.rar",
    (
        "https://s3-us-west-2.amazonaws.com/xgboost-examples/MQ2008.rar",
        f"{_MIRROR}/edb7cbe2-9d73-11e4-aa78-bcaec51b9163_MQ2008.rar",
    ),
)

for _name, _archive, _queries, _documents in (("MQ2007", _2007, 1_692, 69_623), ("MQ2008", _2008, 784, 15_211)):
    CORPORA.add(
        Corpus(
            name=_name.lower(),
            title=f"LETOR 4.0 {_name}",
            grades=3,
            features=46,
            queries=_queries,
            documents=_documents,
            folds=5,
            dialect="letor",
            licence=MICROSOFT,
            cite="qin2013letor",
            terms_url=_PAGE,
            archives=(_archive,),
            obtain=f"Open {_FOLDER} in a browser, save {_name}.rar",
            main_part=_name,
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

"""Hostile input to the commands that list, simulate, measure, run and reproduce."""

from __future__ import annotations

import re
import shlex

from tests.hostile.case import Case, Content

DOCUMENTS = [
    f"{(query + doc) % 3} qid:{query} 1:{doc} 2:{(query * doc) % 7} 3:{(doc * doc) % 5}\n"
    for query in range(3)
    for doc in range(6)
]
SPEC = """policies = ["rucb"]
horizon = 50
repetitions = 2
[[matrices]]
name = "three arms"
p = [[0.5, 0.6, 0.7], [0.4, 0.5, 0.6], [0.3, 0.4, 0.5]]
"""
FILES: dict[str, Content] = {
    "small.txt": "".join(DOCUMENTS),
    "m.csv": ",a,b,c\na,0.5,0.6,0.7\nb,0.4,0.5,0.6\nc,0.3,0.4,0.5\n",
    "spec.toml": SPEC,
    "other.toml": "x = 1",
    "null.txt": "1 qid:1 1:NULL 2:1\n0 qid:1 1:1 2:1\n",
    "zero.txt": "1 qid:1 0:1 1:1\n0 qid:1 0:1 1:2\n",
    "folder/other.txt": "not a result",
}


def typed(command: str, says: str, files: dict[str, Content] | None = None) -> Case:
    """The arguments after ``ltr-duel``; ``says`` is plain text."""
    return Case(command, tuple(shlex.split(command)), files=FILES | (files or {}), says=re.escape(says))


def simulate(options: str, says: str) -> Case:
    return typed(f"simulate m.csv --out o {options}", says)


def live(options: str, says: str) -> Case:
    return typed(f"simulate --live small.txt --policy rucb --out o {options}", says)


def spec(name: str, says: str, *changes: tuple[str, str], content: str | bytes | None = None) -> Case:
    text = SPEC
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    files = FILES | {"spec.toml": text if content is None else content}
    return Case(f"spec: {name}", ("run", "spec.toml", "--dry-run"), files=files, says=re.escape(says))


def corpus_spec(name: str, says: str, table: str) -> Case:
    return spec(name, says, content=f'policies = ["rucb"]\nhorizon = 50\n{table}')


def plugin(name: str, says: str, content: Content) -> Case:
    files = FILES | {"mine.py": content}
    return Case(f"plugin: {name}", ("policies", "--plugin", "mine.py"), files=files, says=re.escape(says))


WORDS = [
    typed("simulat", "no command 'simulat'; did you mean 'simulate'? (advise, check, clicks,"),
    typed("prefs shwo m.csv", "no command 'shwo'; did you mean 'show'? (compare, estimate,"),
    typed("data inof small.txt", "no command 'inof'; did you mean 'info'? ("),
    typed("rankers evalute small.txt", "no command 'evalute'; did you mean 'evaluate'? (evaluate)"),
    typed("zzz", "no command 'zzz'; (advise, check, clicks,"),
    typed("''", "no command ''; (advise, check, clicks,"),
    typed("--bogus", "--bogus"),
    typed("prefs --bogus", "--bogus"),
    typed("rankers evaluate", "Missing argument 'PATH'"),
    typed("live export shop.db", "shop.db: there is no store of a live experiment"),
    typed("check", "Missing argument 'FILE'"),
    typed("run", "Missing argument 'SPEC'"),
    typed("policies rubc", "no policy 'rubc'; did you mean 'rucb'? (auto,"),
    typed("policies rucb --bibtx", "--bibtx"),
    typed("methods probabilitic", "no comparison method 'probabilitic'; did you mean 'probabilistic'? ("),
    typed("clicks navigationl", "no click model 'navigationl'; did you mean 'navigational'? ("),
]

SIMULATE = [
    simulate("--policy rubc", "no policy 'rubc'; did you mean 'rucb'? ("),
    simulate("--policy ''", "no policy ''; (auto,"),
    simulate("--policy ' '", "no policy ''; (auto,"),
    simulate("--policy :", "no policy ''; (auto,"),
    simulate("--policy rucb:", "policy 'rucb:': a parameter such as 'key=value' is missing after ':' or ','"),
    simulate("--policy rucb:alpha=0.6,", "'rucb:alpha=0.6,': a parameter such as 'key=value' is missing"),
    simulate("--policy rucb:alpha", "'alpha' needs a value, as in 'rucb:alpha=0.51'"),
    simulate("--policy rucb:alpha=", "alpha must be a number, not ''"),
    simulate("--policy rucb:alpha=nan", "alpha must be at least 0.01, not nan"),
    simulate("--policy rucb:alpha=1e999", "alpha must be at least 0.01, not inf"),
    simulate("--policy rucb:alpha=1,alpha=2", "alpha is given twice"),
    simulate("--policy rucb:alpah=1", "no parameter of policy rucb called 'alpah'; did you mean 'alpha'? ("),
    simulate(f"--policy rucb:alpha={'9' * 400}x", " characters)"),
    simulate("--policy rucb --policy rucb", "a policy is named twice"),
    simulate("--polcy rucb", "--polcy"),
    simulate("--policy rucb --horizon 0", "the horizon must be "),
    simulate("--policy rucb --horizon -5", "the horizon must be "),
    simulate("--policy rucb --horizon 1e30", "the horizon must be "),
    simulate("--policy rucb --horizon 1e16", "the horizon must be "),
    simulate("--policy rucb --horizon nan", "'nan' is not a whole number"),
    simulate("--policy rucb --horizon inf", "'inf' is not a whole number"),
    simulate("--policy rucb --horizon 1.5", "'1.5' is not a whole number"),
    simulate("--policy rucb --horizon ''", "'' is not a whole number"),
    simulate("--policy rucb --repetitions 0", "the number of repetitions must be "),
    simulate("--policy rucb --repetitions 1e30", "the number of repetitions must be "),
    simulate("--policy rucb --jobs 0", "the number of jobs must be "),
    simulate("--policy rucb --jobs -2", "the number of jobs must be "),
    simulate("--policy rucb --jobs 1e9", "the number of jobs must be "),
    simulate("--policy rucb --seed x", "'x' is not a whole number"),
    simulate("--policy rucb --seed 1e400", "'1e400' is not a whole number"),
    simulate("--policy rucb --rankers features", "--rankers requires --live"),
    simulate("--policy rucb --plugin absent.py", "absent.py: there is no such plug-in file"),
    simulate("--policy rucb --plugin folder", "folder: there is no such plug-in file"),
    simulate("--policy rucb --plugin m.csv", "m.csv: a plug-in is a Python file and ends in .py"),
    typed("simulate --policy rucb --out o", "give the FILE of a preference matrix, or --live with a corpus"),
    typed("simulate absent.csv --policy rucb --out o", "absent.csv: "),
    typed("simulate folder --policy rucb --out o", "folder: "),
    typed("simulate spec.toml --policy rucb --out o", "spec.toml"),
    typed("simulate m.csv --policy rucb --out m.csv", "m.csv"),
    typed("simulate m.csv --policy rucb --out /dev/null", "/dev/null"),
    live("--clicks navigationl", "no click model 'navigationl'; did you mean 'navigational'? ("),
    live("--clicks navigational:position_bias=-1", "position_bias must be at least 0, not -1"),
    live("--method probabilitic", "no comparison method 'probabilitic'; did you mean 'probabilistic'? ("),
    live("--method probabilistic:tau=", "tau must be a number, not ''"),
    live("--slates soms", "no comparison method 'soms'; did you mean 'sosm'? ("),
    live("--slates balanced", "balanced"),
    live("--top 0", "the number of documents shown must be between 1 and 1000, not 0"),
    live("--top 1e9", "the number of documents shown must be between 1 and 1000, not 1000000000"),
    live("--comparisons 0", "the number of comparisons must be "),
    live("--rankers ,", "names no feature"),
    live("--rankers ''", "an empty word does not name a ranker"),
    live("--rankers features:9", "no feature in small called '9'; (1, 2, 3)"),
    live("--rankers features:1", "at least two rankers"),
    live("m.csv --horizon 10", "the preference matrix has other rankers"),
    typed("simulate --live absent --policy rucb --out o", "absent: there is no such file or folder"),
]

RANKERS = [
    typed("rankers evaluate absent", "absent: there is no such file or folder"),
    typed("rankers evaluate small.txt --measure NDGC@10", "no measure 'NDGC@10'; did you mean 'NDCG@k'? ("),
    typed("rankers evaluate small.txt --measure NDCG@0", "write a cut-off from 1 to 100,000, as in 'NDCG@10'"),
    typed("rankers evaluate small.txt --measure NDCG@", "write a cut-off from 1 to 100,000, as in 'NDCG@10'"),
    typed("rankers evaluate small.txt --measure NDCG@1e999", "write a cut-off from 1 to 100,000, as in 'NDCG@10'"),
    typed("rankers evaluate small.txt --measure ''", "no measure ''; (NDCG@k,"),
    typed("rankers evaluate small.txt --measure MAP --measure MAP", "named twice"),
    typed("rankers evaluate small.txt --ties fixd", "no tie rule 'fixd'; ("),
    typed("rankers evaluate small.txt --rankers run:absent", "its documents have no ids"),
    typed("rankers evaluate small.txt --rankers run:", "'run:' requires a file after the colon: run:FILE"),
    typed("rankers evaluate small.txt --rankers =run:x", "no kind of ranker '=run'; did you mean 'run'? ("),
    typed("rankers evaluate small.txt --rankers lightgbm:m.csv", "m.csv: not a LightGBM model"),
    typed("rankers evaluate small.txt --rankers xgboost:m.csv", "m.csv: not an XGBoost model"),
    typed("rankers evaluate small.txt --rankers onnx:m.csv", "m.csv: not an ONNX model"),
    typed("rankers evaluate small.txt --rankers scores:m.csv", "m.csv: there is no column 'query'"),
    typed("rankers evaluate small.txt --rankers nothing:m.csv", "no kind of ranker 'nothing'; ("),
    typed("rankers evaluate small.txt --rankers features --rankers features", "two rankers have the same name"),
    typed("rankers evaluate small.txt --rankers features:,,", "names no feature"),
    typed("rankers evaluate small.txt --rankers features:1,1", "two rankers have the same name"),
    typed("rankers evaluate small.txt --rankers ''", "an empty word does not name a ranker"),
    typed("rankers evaluate qrels:small.txt", "requires runs; give --rankers run:FILE (in a spec:"),
    typed("rankers evaluate qrels:absent --rankers run:absent", "absent: there is no such file"),
    typed("rankers evaluate small.txt --out m.csv", "m.csv"),
    typed("rankers evaluate small.txt --tie-seed 1.5", "'1.5' is not a whole number"),
    typed("rankers evaluate small.txt --jobs 0", "the number of jobs must be "),
]

DEMO = [
    typed("demo --out m.csv", "m.csv"),
    typed("demo --out o --policy rubc", "no policy 'rubc'; did you mean 'rucb'? ("),
    typed("demo --out o --horizon 0", "the horizon must be "),
    typed("demo --out o --clicks navigationl", "no click model 'navigationl'; did you mean 'navigational'? ("),
    typed("demo --out o --comparisons 0", "the number of comparisons must be "),
    typed("demo --out o --repetitions 0", "the number of repetitions must be "),
    typed("demo --out o --jobs 0", "the number of jobs must be "),
    typed("demo --out o --rankers ''", "an empty word does not name a ranker"),
    typed("demo --data absent --out o", "absent: there is no such file or folder"),
    typed("demo --data m.csv --out o", "m.csv: no column 'query'"),
    typed("demo --data small.txt --rankers features:1 --policy rubc --out o", "no policy 'rubc'"),
]

STUDIES = [
    typed("prefs show m.csv --most-rankers 1e30", "the largest number of rankers must be "),
    typed("sensitivity absent", "absent: there is no such file or folder"),
    typed("sensitivity small.txt --clicks navigationl", "no click model 'navigationl'; did you mean "),
    typed("sensitivity small.txt --method probabilitic", "no comparison method 'probabilitic'; did you mean "),
    typed("sensitivity small.txt --pairs 0", "the number of pairs must be "),
    typed("sensitivity small.txt --least-gap nan", "the least difference of NDCG@10 must be between 0 and 1, not nan"),
    typed("sensitivity small.txt --least-gap 2", "the least difference of NDCG@10 must be between 0 and 1, not 2"),
    typed("sensitivity small.txt --least-gap 1", "no two of the 3 rankers differ by more than 1 in NDCG@10"),
    typed("sensitivity small.txt --impressions 0", "the number of impressions must be "),
    typed("sensitivity small.txt --impressions 1e30", "must be "),
    typed("sensitivity small.txt --repetitions 0", "the number of repetitions must be "),
    typed("sensitivity small.txt --repetitions 1e30", "the number of repetitions must be "),
    typed("sensitivity small.txt --accuracy 2", "the accuracy must be between 0.5 and 1, not 2"),
    typed("sensitivity small.txt --accuracy nan", "the accuracy must be between 0.5 and 1, not nan"),
    typed("sensitivity small.txt --accuracy x", "'x' is not a valid float"),
    typed("sensitivity small.txt --top 0", "the number of documents shown must be between 1 and 1000, not 0"),
    typed("sensitivity small.txt --rankers features:1", "no two of the 1 rankers differ"),
]

P = "[[0.5, 0.6, 0.7], [0.4, 0.5, 0.6], [0.3, 0.4, 0.5]]"
SPECS = [
    spec("no TOML", "spec.toml: not TOML: ", content="policies = "),
    spec("null bytes", "spec.toml: not TOML: ", content=b"\0\0"),
    spec("not UTF-8", "spec.toml: not TOML: ", content=b"name = '\xff'"),
    spec("5,000 brackets", "its brackets are nested too deeply", content="policies = " + "[" * 5000 + "]" * 5000),
    spec("5,000 digits", "not TOML: Exceeds the limit", ("50", "9" * 5000)),
    spec("400 digits", "horizon: ", ("50", "9" * 400)),
    spec("horizon inf", "horizon: must be a whole number, not inf", ("50", "inf")),
    spec("horizon nan", "horizon: must be a whole number, not nan", ("50", "nan")),
    spec("horizon true", "horizon: must be a whole number, not true", ("50", "true")),
    spec("horizon 1.5", "horizon: must be a whole number, not 1.5", ("50", "1.5")),
    spec("horizon a text", "horizon: must be a whole number, not 'many'", ("50", '"many"')),
    spec("horizon a date", "horizon: must be a whole number, not 2020-01-01", ("50", "2020-01-01")),
    spec("horizon 0", "horizon: ", ("50", "0")),
    spec("no horizon in the list", "horizon: the list is empty", ("50", "[]")),
    spec("repetitions 0", "repetitions: ", ("repetitions = 2", "repetitions = 0")),
    spec("900,000,000 runs", "runs; an experiment has at most", ("50", str([*range(1, 91)])), ("= 2", "= 1e7")),
    spec("policies without end", "stands for 9,000,000 policies; at most 10,000", (
        '"rucb"', f'{{name = "rucb", alpha = {[*range(1, 3001)]}, prior_wins = {[*range(3000)]}}}')),
    spec("an unknown policy", "policies[0]: no policy 'rubc'; did you mean 'rucb'? (", ("rucb", "rubc")),
    spec("no policy", "policies: the list is empty", ('["rucb"]', "[]")),
    spec("a policy twice", "policies[1]: 'rucb' is given twice", ('["rucb"]', '["rucb", "rucb"]')),
    spec("a number as policy", "policies[0]: must be a name with parameters", ('["rucb"]', "[3]")),
    spec("a policy of a number", "policies[0]: must be a string, not 3", ('"rucb"', "{name = 3}")),
    spec("a parameter that is a list", "alpha must be a number", ('"rucb"', '{name = "rucb", alpha = [[1]]}')),
    spec("a parameter that is a table", "alpha must be a number", ('"rucb"', '{name = "rucb", alpha = {}}')),
    spec(
        "live coins",
        "matrices[0].answers: no answers 'live'; (matrix, independent_coins)",
        ("p =", 'answers = "live"\np ='),
    ),
    spec("p of nan", "matrices[0].p: the value must be between 0 and 1, not nan", ("0.6", "nan")),
    spec("p below 0", "matrices[0].p: the value must be between 0 and 1, not -0.6", ("0.6", "-0.6")),
    spec("p of no sum 1", "matrices[0]: p", ("0.6", "0.9")),
    spec("p empty", "matrices[0].p: must be a square of numbers", (P, "[]")),
    spec("p of strings", "matrices[0].p: must be a number, not 'x'", ("0.6", '"x"')),
    spec("p not square", "matrices[0].p: must be a square of numbers", (", 0.7", "")),
    spec("a name of 100,000 characters", "must be a string of at most 4,096 characters", ("three arms", "x" * 100_000)),
    spec("a name that is none", "matrices[0].name: must be a string, not ' '", ("three arms", " ")),
    spec("an unknown key", "no key 'horizn'; did you mean 'horizon'? (", ("horizon", "horizn")),
    spec("a seed that is a text", "seed: must be a whole number, not 'x'", ("horizon", 'seed = "x"\nhorizon')),
    spec("a seed of 0.5", "seed: must be a whole number, not 0.5", ("horizon", "seed = 0.5\nhorizon")),
    spec("an unknown regret", "regrets: no regret 'averge'; did you mean", ("horizon", 'regrets = "averge"\nhorizon')),
    spec("no checkpoints", "checkpoints_per_decade: ", ("horizon", "checkpoints_per_decade = 0\nhorizon")),
    spec("an absent plug-in", "there is no such plug-in file", ("horizon", 'plugins = "absent.py"\nhorizon')),
    spec("a number as plug-in", "plugins[0]: must be a string, not 3", ("horizon", "plugins = [3]\nhorizon")),
    spec("no problem", "there is no problem", content='policies = ["rucb"]'),
    spec("no policies", "the key 'policies' is missing", content="horizon = 5"),
    spec("a number as matrices", "matrices: must be written as [[", content='policies = "rucb"\nmatrices = 3'),
    corpus_spec("clicks", "corpora[0].clicks: no click model 'navigation'; did you mean",
                '[[corpora]]\npath = "small.txt"\nclicks = "navigation"'),
    corpus_spec("absent corpus", "corpora[0]: absent.txt: there is no such file", '[[corpora]]\npath = "absent.txt"'),
    corpus_spec("NULL", "null.txt:1:11: feature 1 is NULL; choose a replacement with fill = (min, nan or a number)",
                '[[corpora]]\npath = "null.txt"'),
    corpus_spec("ids from 0", "ids start at 1; first_id = 0 reads ids that start at 0",
                '[[corpora]]\npath = "zero.txt"'),
    corpus_spec("10^9 queries", "corpora[0].synthetic.queries: ", "[[corpora]]\nsynthetic = { queries = 1e9 }"),
    corpus_spec("outtome", "corpora[0]: no key 'outtome'; did you mean 'outcome'? (",
                '[[corpora]]\npath = "small.txt"\nouttome = "x"'),
    corpus_spec("feature 9", "corpora[0]: no feature in small called '9'; (1, 2, 3)",
                '[[corpora]]\npath = "small.txt"\nrankers = ["features:9"]'),
    corpus_spec("30 of 3 rankers", "corpora[0]: a subset of 30 rankers cannot be drawn from 3",
                '[[corpora]]\npath = "small.txt"\nsubsets = { size = 30 }'),
    corpus_spec("both", "give either 'path' or 'synthetic'", '[[corpora]]\npath = "small.txt"\nsynthetic = {}'),
    corpus_spec("set", "utilities[0].set: no set of utilities '1good5por'; did you mean '1good5poor'? (",
                '[[utilities]]\nset = "1good5por"'),
    corpus_spec("100,000 arms", "utilities[0].size: the value must be between 2 and 10000, not 100000",
                '[[utilities]]\nfamily = "uniform_arms"\nsize = 100_000'),
    corpus_spec("100,000 rankers", "matrices[0].size: the value must be between 2 and 10000, not 100000",
                '[[matrices]]\nfamily = "equal_gaps"\nsize = 100_000'),
    corpus_spec("absent matrix", "matrices[0]: ", '[[matrices]]\nfile = "absent.csv"'),
]  # fmt: skip

RUN = [
    typed("run absent.toml --dry-run", "absent.toml: "),
    typed("run folder --dry-run", "folder: "),
    typed("run other.toml --dry-run", "other.toml: no key 'x'; ("),
    typed("run spec.toml", "give --out DIR, the folder of results (or --dry-run)"),
    typed("run spec.toml --out m.csv", "m.csv"),
    typed("run spec.toml --out /dev/null", "/dev/null"),
    typed("run spec.toml --out folder", "folder: contains files that do not belong to an experiment"),
    typed("run spec.toml --out o --backend thread", "no backend 'thread'; did you mean 'threads'? ("),
    typed("run spec.toml --out o --jobs 0", "the number of jobs must be "),
    typed("run spec.toml --out o --shard 0/3", "--shard must be i/n with 1 <= i <= n, for example 1/8, not '0/3'"),
    typed("run spec.toml --out o --shard 4/3", "--shard must be i/n with 1 <= i <= n, for example 1/8, not '4/3'"),
    typed("run spec.toml --out o --shard x", "--shard must be i/n with 1 <= i <= n, for example 1/8, not 'x'"),
    typed(f"run spec.toml --out o --shard 1/{'9' * 5000}", "--shard must be i/n with 1 <= i <= n"),
    typed("run spec.toml --out o --scheduler x", "--scheduler is for --backend dask, not for 'threads'"),
    typed("status absent", "absent: contains no results of 'ltr-duel run'"),
    typed("status m.csv", "m.csv: contains no results of 'ltr-duel run'"),
    typed("status folder", "folder: contains no results of 'ltr-duel run'"),
    typed("results absent", "absent: contains no results of 'ltr-duel run'"),
    typed("results folder", "folder: contains no results of 'ltr-duel run'"),
    typed("results folder --regret averge", "no regret 'averge'; did you mean 'average'? ("),
    typed("results folder --band sdd", "'sdd' is not one of 'quantiles', 'standard error', 'sd', "),
    typed("results folder --format gif", "'gif' is not one of 'png', 'pdf', 'svg'"),
    typed("run spec.toml --out folder --check x", "'x' is not a whole number"),
    typed("run spec.toml --out folder --check 0", "the number of runs must be at least 1, not 0"),
    typed("run spec.toml --out folder --check 1", "folder: contains no results of 'ltr-duel run'"),
]

REPRODUCE = [
    typed("reproduce", "name figures (or all, or claims) and give --out DIR; --list lists the figures"),
    typed("reproduce all", "name figures (or all, or claims) and give --out DIR; --list lists the figures"),
    typed("reproduce rucb_figure --out o", "no figure 'rucb_figure'; did you mean 'rucb_figure_"),
    typed("reproduce all --out o --scale quik", "no scale 'quik'; did you mean 'quick'? (quick, paper)"),
    typed("reproduce --list --experiments folder", "folder: no figure files"),
    typed("reproduce --list --experiments absent", "'absent' does not exist"),
    typed("reproduce --list --experiments m.csv", "'m.csv' is a file"),
    typed("reproduce claims --out m.csv", "m.csv"),
    typed("reproduce claims --out folder", "folder: no reproduced figures are here"),
    typed("reproduce claims --out folder --jobs 0", "the number of jobs must be "),
    typed("reproduce all --data absent --out o", "'absent' does not exist"),
]

PLUGINS = [
    plugin("exits", "mine.py: SystemExit: 3", "import sys\nsys.exit(3)\n"),
    plugin("raises two lines", "mine.py: ValueError: boom\\nagain", "raise ValueError('boom\\nagain')\n"),
    plugin("no syntax", "mine.py: SyntaxError: '(' was never closed", "x = (\n"),
    plugin("registers nothing", "mine.py: registers no component; end it with register(__name__, ...)", "x = 1\n"),
    plugin("null bytes", "mine.py: SyntaxError: source code string cannot contain null bytes", b"x = 1\0"),
    plugin("not UTF-8", "mine.py: SyntaxError: ", b"\xff\xfe"),
    plugin("recursion", "mine.py: RecursionError: ", "def f(): f()\nf()\n"),
    plugin("a folder", "mine.py: there is no such plug-in file", lambda path: path.mkdir()),
    plugin("a pipe", "mine.py: there is no such plug-in file", lambda path: __import__("os").mkfifo(path)),
    plugin("a circle of links", "mine.py: ", lambda path: path.symlink_to(path)),
    plugin("a taken name", "mine.py: a policy named 'rucb' already exists; choose a different name",
           "from ltr_duel.bandits import POLICIES\nPOLICIES.add(POLICIES['rucb'])\n"),
    typed("check absent.py", "absent.py: there is no such plug-in file"),
    typed("check folder", "folder: there is no such plug-in file"),
    typed("check m.csv", "m.csv: a plug-in is a Python file and ends in .py"),
]  # fmt: skip

CASES = [*WORDS, *SIMULATE, *RANKERS, *DEMO, *STUDIES, *SPECS, *RUN, *REPRODUCE, *PLUGINS]

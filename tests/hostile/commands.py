"""Bad words on the command line, and bad files of experiments: what is typed, and a part of the sentence."""

from __future__ import annotations

FILES = {
    "small.txt": "".join(
        f"{(query + doc) % 3} qid:{query} 1:{doc} 2:{(query * doc) % 7} 3:{(doc * doc) % 5}\n"
        for query in range(3)
        for doc in range(6)
    ),
    "m.csv": ",a,b,c\na,0.5,0.6,0.7\nb,0.4,0.5,0.6\nc,0.3,0.4,0.5\n",
    "spec.toml": """policies = ["rucb"]
horizon = 50
repetitions = 2
[[matrices]]
name = "three arms"
p = [[0.5, 0.6, 0.7], [0.4, 0.5, 0.6], [0.3, 0.4, 0.5]]
""",
    "other.toml": "x = 1",
    "null.txt": "1 qid:1 1:NULL 2:1\n0 qid:1 1:1 2:1\n",
    "folder/other.txt": "not a result",
}
SHORT = {  # first word of a line -> the words that it stands for
    "SIM": "simulate m.csv --out o",
    "USERS": "simulate --users small.txt --policy rucb --out o",
    "EST": "prefs estimate small.txt --jobs 1 --out new.parquet",
    "EVAL": "evaluate small.txt",
    "RUN": "run spec.toml --out o",
}

# words => a part of the sentence, in which ~ stands for any text
COMMANDS = f"""
simulat => No such command 'simulat'
prefs --bogus => --bogus
evaluate => Missing argument 'PATH'
live export shop.db --out new.csv => shop.db: there is no store of a live experiment
list methods probabilitic => no comparison method 'probabilitic'; did you mean 'probabilistic'? (ltr-duel list methods

SIM --policy : => no policy ''; (auto,
SIM --policy rubc => no policy 'rubc'; did you mean 'rucb'? (ltr-duel list policies prints all)
SIM --policy rucb:alpha=nan => alpha must be at least 0.01, not nan
SIM --policy rucb:alpha=1,alpha=2 => alpha is given twice
SIM --policy rucb:alpah=1 => no parameter of policy rucb called 'alpah'; did you mean 'alpha'? (
SIM --policy rucb:alpha={"9" * 400}x =>  characters)
SIM --policy rucb --policy rucb => a policy is named twice
SIM --horizon 0 => the horizon must be~not 0
SIM --horizon {"9" * 400} => the horizon must be between 1 and~(400 characters)
SIM --horizon {"x" * 400} => (402 characters) is not a whole number
SIM --jobs -2 => the number of jobs must be
SIM --repetitions {"9" * 5000} => 999...999~(5,0
SIM --delay -1 => delay must be~not -1
SIM --rankers features => --rankers and similar options require --users
SIM --plugin absent.py => absent.py: there is no such plug-in file
simulate --out o => give the FILE of a preference matrix, or --users with a corpus
simulate absent.csv --out o => absent.csv:
simulate small.txt --out o => small.txt: not a preference matrix
simulate m.csv --out '' => an empty name is not an output path
simulate m.csv --out m.csv/x/y => cannot be written: m.csv is not a folder
simulate m.csv --out {"n" * 300} => nnn...~characters
USERS --clicks navigational:position_bias=-1 => position_bias must be at least 0, not -1
USERS --top 0 => the number of documents shown must be between 1 and 1000, not 0
USERS --rankers , => names no feature
USERS --rankers features:1 => at least two rankers
USERS m.csv --horizon 10 => the preference matrix has other rankers

EVAL --measure NDGC@10 => no measure 'NDGC@10'; did you mean 'NDCG@k'? (
EVAL --measure NDCG@1e999 => write a cut-off from 1 to 100,000, as in 'NDCG@10'
EVAL --ties fixd => no tie rule 'fixd'; (
EVAL --rankers run:absent => absent: there is no such file
EVAL --rankers run: => 'run:' requires a file after the colon: run:FILE
EVAL --rankers lightgbm:m.csv => m.csv: not a LightGBM model
EVAL --rankers scores:m.csv => m.csv: a table of scores needs a query, a document and scores
evaluate null.txt => feature 1 is NULL;~--fill
evaluate qrels:small.txt => requires runs; give --rankers run:FILE (in a spec:
evaluate qrels:small.txt --rankers run:r --labels round => judgements are not feature files

demo --fill 0 --out o => require --data
demo --data small.txt --out m.csv => m.csv is not a folder
EST --comparisons 1e30 => at most 1,073,741,824 comparisons of a pair are possible, not 1000
EST --target-error nan => must be between 1e-05 and 0.5, not nan
prefs show m.csv --rows -1 => -1 is not in the range
prefs show {"n" * 300} => File name too long
sensitivity small.txt --least-gap 1 => no two of the 3 rankers differ by more than 1 in NDCG@10
advise small.txt --budget 10 => the budget must be between 100 and 1e+09, not 10
advise small.txt --budget 1000 --incumbent 9 => no ranker '9'
logs compare nowhere.jsonl => no such file
logs check => give either a LOG, or --exposures with --events, or --source

run other.toml --dry-run => other.toml: no key 'x'; (
run spec.toml => give --out DIR, the folder of results (or --dry-run)
run spec.toml --out folder => folder: contains files that do not belong to an experiment
RUN --backend thread => no backend 'thread'; did you mean 'threads'? (
RUN --shard 4/3 => --shard must be i/n with 1 <= i <= n, for example 1/8, not '4/3'
RUN --scheduler x => --scheduler is for --backend dask, not for 'threads'
results folder --regret averge => no regret 'averge'; did you mean 'average'? (
results folder --figures gif => 'gif' is not one of 'png', 'pdf', 'svg'
reproduce all => name figures (or all) and give --out DIR; --list lists the figures
reproduce --list --experiments folder => folder: no figure files
data info /dev/null => /dev/null: this is neither a file nor a folder
data fetch mq2008 => run this again with --accept-terms
"""

# a file of an experiment, as changes of spec.toml (old -> new), or as a whole => a part of the sentence
SPECS = f"""
horizon = 50 -> horizon = 2020-01-01 => horizon: the value must be a whole number, not a date
horizon = 50 -> horizon = {[*range(1, 91)]}; repetitions = 2 -> repetitions = 1e7 => runs; an experiment has at most
horizon = 50 -> horizn = 50 => no key 'horizn'; did you mean 'horizon'? (
["rucb"] -> ["rubc"] => policies[0]: no policy 'rubc'; did you mean 'rucb'? (
["rucb"] -> ["rucb", "rucb"] => policies[1]: 'rucb' is given twice
["rucb"] -> [{{name = "rucb", alpha = {[*range(1, 3001)]}, prior_wins = {[*range(3000)]}}}] => for 9,000,000
p = [[0.5, 0.6 -> answers = "users"\\np = [[0.5, 0.6 => no answers 'users'; (matrix, independent_coins)
, 0.7 ->  => matrices[0].p: must be a square of numbers
policies = ["rucb"] => there is no problem
horizon = 5 => the key 'policies' is missing
CORPUS path = "null.txt" => null.txt:1:11: feature 1 is NULL; choose a replacement with fill = (min, nan or a number)
CORPUS path = "small.txt"\\nclicks = "navigation" => corpora[0].clicks: no click model 'navigation'; did you mean
CORPUS path = "small.txt"\\nsynthetic = {{}} => give either 'path' or 'synthetic'
CORPUS synthetic = {{}}\\nfill = 0 => corpora[0]: 'fill' requires 'path'
"""

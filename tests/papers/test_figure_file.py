"""Figure files: what they may hold, what they come to at a scale and with the data that is there."""

from __future__ import annotations

import tomllib

import pytest

from ltr_duel.core.errors import InputError
from ltr_duel.papers.figure_file import figures_folder, list_figures, read_figure
from ltr_duel.papers.find_data import first_present
from ltr_duel.papers.resolve import KINDS, resolve
from ltr_duel.papers.toml_text import toml_text

FIGURE = """
[figure]
paper = "rucb"
number = "Figure 4"
title = "A title"
shows = "what there is to see"
setting = "as printed"
drawing = "regret"

[[study]]
policies = ["rucb"]
horizon = 1_000_000
repetitions = 100
quick = { horizon = 300, repetitions = 2 }

[[study.corpora]]
name = "NP2004"
clicks = "informational"
answers = "live"
subsets = { size = [2, 3], condorcet = true }
any_of = [
    { path = "NP2004/Fold1", ties = "shared", source = "real data", note = "a part" },
    { file = "matrices/m.txt", source = "published matrix" },
    { synthetic = { queries = 9 }, source = "stand-in", quick = { synthetic = { queries = 3 } } },
]
"""


@pytest.fixture
def figure_file(tmp_path):
    """Return a function that writes a figure file and reads it."""

    def write(text=FIGURE, name="rucb_figure_4"):
        path = tmp_path / f"{name}.toml"
        path.write_text(text)
        return read_figure(path)

    return write


def test_quick_keys_replace_those_beside_them(figure_file):
    (quick,), (paper,) = (resolve(figure_file(), scale, None) for scale in ("quick", "paper"))
    assert (quick["horizon"], quick["repetitions"]) == (300, 2)
    assert (paper["horizon"], paper["repetitions"]) == (1_000_000, 100)
    assert quick["corpora"][0]["synthetic"]["queries"] == 3 and paper["corpora"][0]["synthetic"]["queries"] == 9
    assert "quick" not in str(paper).replace("(quick)", "")


def test_the_first_source_that_is_there_is_taken(figure_file, tmp_path):
    def part(kind):
        (study,) = resolve(figure_file(), "paper", tmp_path / "data")
        (one,) = study[kind]
        return one

    (tmp_path / "data" / "matrices").mkdir(parents=True)
    assert part("corpora")["source"] == "stand-in"
    matrix = tmp_path / "data" / "matrices" / "m.txt.gz"
    matrix.touch()
    wanted = {"name": "NP2004", "clicks": "informational", "subsets": {"size": [2, 3], "condorcet": True}}
    assert part("matrices") == wanted | {"file": str(matrix), "source": "published matrix"}
    several = FIGURE.replace('"informational"', '["perfect", "informational"]')
    (study,) = resolve(figure_file(several), "paper", tmp_path / "data")
    assert "clicks" not in study["matrices"][0]  # a matrix was estimated with one
    (tmp_path / "data" / "NP2004" / "Fold1").mkdir(parents=True)
    real = part("corpora")
    assert real["path"] == str(tmp_path / "data" / "NP2004" / "Fold1") and real["ties"] == "shared"
    assert (real["source"], real["note"], real["answers"]) == ("real data", "a part", "live")


def test_a_converted_corpus_of_the_cache_is_data_too(tmp_path, monkeypatch):
    monkeypatch.setenv("LTR_DUEL_HOME", str(tmp_path))
    wanted = [{"path": "mslr-web10k", "source": "real data"}, {"synthetic": {}, "source": "stand-in"}]
    for name in ("mslr-web10k-" + "0" * 20, "mslr-web10k-train-" + "0" * 20):
        (tmp_path / "corpora" / name).mkdir(parents=True)
    (tmp_path / "corpora" / ("mslr-web10k-train-" + "0" * 20) / "corpus.json").touch()
    assert first_present(wanted, None).source == "stand-in"
    (tmp_path / "corpora" / ("mslr-web10k-" + "0" * 20) / "corpus.json").touch()
    assert first_present(wanted, None).entry == {"path": str(tmp_path / "corpora" / ("mslr-web10k-" + "0" * 20))}


def test_nothing_to_choose_and_nothing_there():
    assert first_present([], None) == ({}, "as in the paper", "")
    with pytest.raises(InputError, match=r"none of a, b\.npy is in the cache; name their folder by --data"):
        first_present([{"path": "a", "source": "real data"}, {"file": "b.npy", "source": "published matrix"}], None)
    with pytest.raises(InputError, match="no source 'reel data'; did you mean 'real data'"):
        first_present([{"path": "a", "source": "reel data"}], None)


def test_each_value_makes_a_study(figure_file):
    text = FIGURE[: FIGURE.index("[[study.corpora]]")].replace('["rucb"]', '["beat_the_mean:gamma=$gamma"]')
    text += (
        'each = { gamma = [1.0, 1.3] }\n[[study.matrices]]\nfamily = "strong_neighbours"\nsize = 5\ngamma = "$gamma"\n'
    )
    studies = resolve(figure_file(text), "paper", None)
    assert [study["policies"] for study in studies] == [["beat_the_mean:gamma=1.0"], ["beat_the_mean:gamma=1.3"]]
    assert [study["matrices"][0]["gamma"] for study in studies] == [1.0, 1.3]
    assert studies[0]["matrices"][0]["source"] == "as in the paper"


def test_a_problem_can_be_left_out_and_its_study_with_it(figure_file):
    extra = FIGURE[FIGURE.index("[[study]]") : FIGURE.index("[[study.corpora]]")]
    skip = '[[study.matrices]]\nname = "m"\nany_of = [{ file = "no", source = "published matrix" }, { skip = true }]\n'
    assert len(resolve(figure_file(FIGURE + skip + extra + skip), "paper", None)) == 1
    assert "matrices" not in resolve(figure_file(FIGURE + skip), "paper", None)[0]


@pytest.mark.parametrize(
    "change, words",
    [
        (("[figure]", "[figur]"), ["no key 'figur'; did you mean 'figure'?"]),
        (('paper = "rucb"', 'paper = "rocb"'), ["figure.paper: no paper 'rocb'; did you mean 'rucb'?"]),
        (('title = "A title"\n', ""), ["figure: the key 'title' is missing"]),
        (("drawing =", "drawings ="), ["no key 'drawings'; did you mean 'drawing'?"]),
        (('drawing = "regret"', 'drawing = "regret"\nkind = "properties"'), ["has [measure], and no [[study]]"]),
        (('drawing = "regret"', 'drawing = "regret"\n[measure]\na = 1'), ["has [[study]], and no [measure]"]),
        (("[[study]]", "[study]\n[[study.x]]\n[[study.x]]"), ["study[0]: no key 'x'"]),
        (('drawing = "regret"\n', 'drawing = "regret"\n[bogus]\n'), ["no key 'bogus'"]),
        (("repetitions = 100", "repetition = 100"), ["study[0]: no key 'repetition'; did you mean 'repetitions'?"]),
        (('["rucb"]', '["rubc"]'), ["study[0].policies[0]: no policy 'rubc'"]),
        (('source = "stand-in"', 'source = "standin"'), ["study[0]: corpora[0]: no source 'standin'"]),
        (('clicks = "informational"', 'clicks = "informative"'), ["study[0].corpora[0].clicks: no click model"]),
        (("repetitions = 100", "repetitions = 100\neach = { gamma = 1 }"), ["each: must be a table of lists"]),
        (("repetitions = 100", "repetitions = = 100"), ["not TOML"]),
    ],
)
def test_a_mistake_is_answered_by_one_sentence(figure_file, change, words):
    assert change[0] in FIGURE
    with pytest.raises(InputError) as caught:
        resolve(figure_file(FIGURE.replace(*change)), "paper", None)
    message = str(caught.value)
    assert "rucb_figure_4.toml" in message and "\n" not in message
    assert all(word in message for word in words), message


def test_toml_text_says_what_it_was_given():
    given = {
        "name": 'a "name" with \\ and \t and é',
        "numbers": [1, 2.5, 1e-7, -3],
        "flag": True,
        "p": [[0.5, 0.6], [0.4, 0.5]],
        "deep": {"a.b": {"c": []}, "d": [{"e": 1}]},
        "matrices": [{"file": "m.npy", "subsets": {"size": [2, 3], "condorcet": True}}, {"name": "n"}],
    }
    assert tomllib.loads(toml_text(given)) == given


@pytest.mark.parametrize("scale", ["quick", "paper"])
@pytest.mark.parametrize("name", list(list_figures(figures_folder())))
def test_every_figure_resolves_without_any_data(name, scale, monkeypatch, tmp_path):
    from ltr_duel.papers.figures import DRAWINGS
    from ltr_duel.papers.measures import MEASURES

    monkeypatch.setenv("LTR_DUEL_HOME", str(tmp_path))
    file = list_figures(figures_folder())[name]
    assert file.figure.drawing in DRAWINGS
    studies = resolve(file, scale, None)
    assert studies if file.figure.kind == "runs" else file.figure.kind in MEASURES
    parts = [part for study in studies for kind in KINDS for part in study.get(kind, ())]
    assert {part["source"] for part in parts} <= {"stand-in", "as in the paper", "made by a rule", "published matrix"}
    assert not any("path" in part or "file" in part for part in parts)


def test_the_readme_lists_every_figure():
    folder = figures_folder()
    readme = (folder / "README.md").read_text(encoding="utf-8").partition("## Figures\n")[2].partition("\n## ")[0]
    rows = [line for line in readme.splitlines() if line.startswith("| `")]
    wanted = [
        f"| `{name}` | {what} | {needs} | {quick} | {paper} |"
        for name, what, needs, quick, paper in (file.row for file in list_figures(folder).values())
    ]
    assert rows == wanted, "the table of experiments/README.md should be\n" + "\n".join(wanted)


def test_figures_come_paper_by_paper_and_by_number():
    names = list(list_figures(figures_folder()))
    assert names.index("wolfenfeld_figure_2") < names.index("wolfenfeld_figure_10") < names.index("state_of_the_art")
    assert names[0].startswith("beat_the_mean")

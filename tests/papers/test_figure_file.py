"""Figure files: valid content, and the resulting experiments at a scale with the available data."""

from __future__ import annotations

import tomllib

import pytest
import tomli_w

from ltr_duel.core.errors import InputError
from ltr_duel.papers.declaration import Source, published, real, surrogate
from ltr_duel.papers.expand import expand, first_present
from ltr_duel.papers.figure_files import figures_folder, list_figures

KINDS = ("matrices", "corpora", "utilities")
FIGURE = '''
from ltr_duel.papers import corpus, figure, matrix, measured, published, real, study, surrogate, utilities


@figure("rucb", "Figure 4", drawing="regret")
def rucb_figure_4():
    """A title.

    What there is to see.

    Setting: as printed
    """
    problem = corpus(
        "NP2004",
        real("NP2004/Fold1", ties="shared", note="a part"),
        published("matrices/m.txt"),
        surrogate(queries=9, quick={"queries": 3}),
        clicks="informational",
        answers="live",
        subsets={"size": [2, 3], "condorcet": True},
    )
    return [
        study(["rucb"], problem, horizon=1_000_000, repetitions=100, quick={"horizon": 300, "repetitions": 2}),
    ]
'''
STUDY = FIGURE[FIGURE.index("        study(") : FIGURE.rindex("    ]")]


@pytest.fixture
def figure_file(tmp_path):
    """Return a function that writes a figure file and reads it."""

    def write(text=FIGURE, name="rucb_figure_4"):
        (tmp_path / "rucb.py").write_text(text)
        return list_figures(tmp_path)[name]

    return write


def test_quick_keys_replace_those_beside_them(figure_file):
    (quick,), (paper,) = (expand(figure_file(), scale, None) for scale in ("quick", "paper"))
    assert (quick["horizon"], quick["repetitions"]) == (300, 2)
    assert (paper["horizon"], paper["repetitions"]) == (1_000_000, 100)
    assert quick["corpora"][0]["synthetic"]["queries"] == 3 and paper["corpora"][0]["synthetic"]["queries"] == 9
    assert "quick" not in str(paper).replace("(quick)", "")


def test_the_first_source_that_is_there_is_taken(figure_file, tmp_path):
    def part(kind):
        (study,) = expand(figure_file(), "paper", tmp_path / "data")
        (one,) = study[kind]
        return one

    (tmp_path / "data" / "matrices").mkdir(parents=True)
    assert part("corpora")["source"] == "surrogate"
    matrix = tmp_path / "data" / "matrices" / "m.txt.gz"
    matrix.touch()
    wanted = {"name": "NP2004", "clicks": "informational", "subsets": {"size": [2, 3], "condorcet": True}}
    assert part("matrices") == wanted | {"file": str(matrix), "source": "published matrix"}
    several = FIGURE.replace('"informational"', '["perfect", "informational"]')
    (study,) = expand(figure_file(several), "paper", tmp_path / "data")
    assert "clicks" not in study["matrices"][0]  # a matrix was estimated with one click model
    (tmp_path / "data" / "NP2004" / "Fold1").mkdir(parents=True)
    chosen = part("corpora")
    assert chosen["path"] == str(tmp_path / "data" / "NP2004" / "Fold1") and chosen["ties"] == "shared"
    assert (chosen["source"], chosen["note"], chosen["answers"]) == ("real data", "a part", "live")


def test_a_fetched_corpus_is_data_too(tmp_path, monkeypatch):
    monkeypatch.setenv("LTR_DUEL_HOME", str(tmp_path))
    wanted = [real("mslr-web10k"), surrogate()]
    folder = tmp_path / "corpora" / ("mslr-web10k-" + "0" * 20)
    folder.mkdir(parents=True)
    assert first_present(wanted, "paper", None).source == "surrogate"
    (folder / "corpus-mslr-web10k").touch()
    assert first_present(wanted, "paper", None).entry == {"path": str(folder)}


def test_a_source_of_two_files_needs_both(tmp_path):
    wanted = [real("a", file="b.npy")]
    (tmp_path / "a").touch()
    with pytest.raises(InputError, match=r"none of a, b\.npy is in"):
        first_present(wanted, "paper", tmp_path)
    (tmp_path / "b.npy").touch()
    found = first_present(wanted, "paper", tmp_path)
    assert found.entry == {"path": str(tmp_path / "a"), "file": str(tmp_path / "b.npy")}


def test_nothing_to_choose_and_nothing_there():
    assert first_present([], "paper", None) == ({}, "as in the paper", "")
    with pytest.raises(InputError, match=r"none of a, b\.npy is in the cache; name the folder with --data"):
        first_present([real("a"), published("b.npy")], "paper", None)
    with pytest.raises(InputError, match="no source 'reel data'; did you mean 'real data'"):
        Source("reel data", ["a"])


def test_each_value_makes_a_study(figure_file):
    studies = """        *(
            study([f"beat_the_mean:gamma={g}"], matrix(family="strong_neighbours", size=5, gamma=g), in_quick=g < 1.2)
            for g in (1.0, 1.3)
        ),
"""
    figure = figure_file(FIGURE.replace(STUDY, studies))
    studies = expand(figure, "paper", None)
    assert [study["policies"] for study in studies] == [["beat_the_mean:gamma=1.0"], ["beat_the_mean:gamma=1.3"]]
    assert [study["matrices"][0]["gamma"] for study in studies] == [1.0, 1.3]
    assert studies[0]["matrices"][0]["source"] == "as in the paper"
    assert [study["matrices"][0]["gamma"] for study in expand(figure, "quick", None)] == [1.0]


def test_a_problem_can_be_left_out_and_its_study_with_it(figure_file):
    optional = 'matrix(published("no"), name="m", optional=True)'
    both = STUDY.replace("problem", f"problem, {optional}") + STUDY.replace("problem", optional)
    assert len(expand(figure_file(FIGURE.replace(STUDY, both)), "paper", None)) == 1
    assert "matrices" not in expand(figure_file(FIGURE.replace(STUDY, both)), "paper", None)[0]


def test_a_problem_is_declared_once_and_used_with_other_settings(figure_file, tmp_path):
    (tmp_path / "problems.py").write_text(
        "from ltr_duel.papers import utilities\n"
        'ARMS = utilities(set=["1good5poor"], name="arms", quick={"name": "few"})\n'
    )
    text = FIGURE.replace("\n\n\n@figure", "\nfrom .problems import ARMS\n@figure")
    figure = figure_file(text.replace("problem, horizon", 'ARMS, ARMS.using(set=["arith6"]), horizon'))
    for scale, name in (("paper", "arms"), ("quick", "few")):
        (study,) = expand(figure, scale, None)
        assert [(one["set"], one["name"]) for one in study["utilities"]] == [(["1good5poor"], name), (["arith6"], name)]
    assert not (tmp_path / "__pycache__").exists()


@pytest.mark.parametrize(
    "change, words",
    [
        (("@figure(", "@figur("), ["line 5: NameError: name 'figur' is not defined"]),
        (('figure("rucb"', 'figure("rocb"'), ["line 5: no paper 'rocb'; did you mean 'rucb'?"]),
        (("A title.\n\n", ""), ["the docstring of figure 'rucb_figure_4' must have the paragraphs: a title"]),
        (("Setting: ", ""), ["must have the paragraphs: a title", "'Setting: ...'"]),
        (("drawing=", "drawings="), ["missing 1 required keyword-only argument: 'drawing'"]),
        ((STUDY, ""), ["figure 'rucb_figure_4' must return a list that contains only study(...) or only measured"]),
        ((STUDY, STUDY + '        measured("properties"),\n'), ["contains only study(...) or only measured(...)"]),
        (("horizon=1_000_000", "x=[]"), ["study 1: no key 'x'"]),
        (("def rucb_figure_4", "def f(x)\ndef rucb_figure_4"), ["rucb.py, line 6: expected ':'"]),
        (("repetitions=100", "repetition=100"), ["study 1: no key 'repetition'; did you mean 'repetitions'?"]),
        (('["rucb"]', '["rubc"]'), ["study 1: policies[0]: no policy 'rubc'"]),
        (
            ("surrogate(queries", 'real("x", sauce=1), surrogate(querys'),
            ["study 1: corpora[0].synthetic: no key 'querys'"],
        ),
        (('clicks="informational"', 'clicks="informative"'), ["study 1: corpora[0].clicks: no click model"]),
        (("surrogate(queries=9", "surogate(queries=9"), ["line 17: NameError: name 'surogate' is not defined"]),
    ],
)
def test_a_mistake_is_answered_by_one_sentence(figure_file, change, words):
    assert change[0] in FIGURE
    with pytest.raises(InputError) as caught:
        expand(figure_file(FIGURE.replace(*change, 1)), "paper", None)
    message = str(caught.value)
    assert ("rucb.py" in message or "rucb_figure_4" in message) and "\n" not in message
    assert all(word in message for word in words), message


def test_a_folder_without_figures_and_a_name_given_twice(figure_file, tmp_path):
    (tmp_path / "problems.py").write_text("")
    with pytest.raises(InputError, match="no figure files"):
        list_figures(tmp_path)
    (tmp_path / "other.py").write_text(FIGURE)
    with pytest.raises(InputError, match="two figures are called 'rucb_figure_4'"):
        figure_file()


def test_toml_text_says_what_it_was_given():
    given = {
        "name": 'a "name" with \\ and \t and é',
        "numbers": [1, 2.5, 1e-7, -3],
        "flag": True,
        "p": [[0.5, 0.6], [0.4, 0.5]],
        "deep": {"a.b": {"c": []}, "d": [{"e": 1}]},
        "matrices": [{"file": "m.npy", "subsets": {"size": [2, 3], "condorcet": True}}, {"name": "n"}],
    }
    assert tomllib.loads(tomli_w.dumps(given)) == given


@pytest.mark.parametrize("scale", ["quick", "paper"])
@pytest.mark.parametrize("name", list(list_figures(figures_folder())))
def test_every_figure_resolves_without_any_data(name, scale, monkeypatch, tmp_path):
    from ltr_duel.papers.figures import DRAWINGS
    from ltr_duel.papers.measures import MEASURES

    monkeypatch.setenv("LTR_DUEL_HOME", str(tmp_path))
    figure = list_figures(figures_folder())[name]
    assert figure.about["drawing"] in DRAWINGS
    studies = expand(figure, scale, None)
    waits = all(problem.optional for study in figure.studies for problem in study.problems)  # then it has no study
    assert bool(studies) != waits if figure.studies else all(one.measure in MEASURES for one in figure.measures)
    parts = [part for study in studies for kind in KINDS for part in study.get(kind, ())]
    assert {part["source"] for part in parts} <= {"surrogate", "as in the paper", "made by a rule", "published matrix"}
    assert not any("path" in part or "file" in part for part in parts)


def test_the_readme_lists_every_figure():
    folder = figures_folder()
    readme = (folder / "README.md").read_text(encoding="utf-8").partition("## Figures\n")[2].partition("\n## ")[0]
    rows = [line for line in readme.splitlines() if line.startswith("| `")]
    wanted = [
        f"| `{name}` | {what} | {needs} | {quick} | {paper} |"
        for name, what, needs, quick, paper in (figure.row for figure in list_figures(folder).values())
    ]
    assert rows == wanted, "the table of experiments/README.md should be\n" + "\n".join(wanted)


def test_the_example_of_the_readme_is_a_figure(tmp_path):
    folder = figures_folder()
    example = (folder / "README.md").read_text(encoding="utf-8").partition("```python\n")[2].partition("```")[0]
    (tmp_path / "mine.py").write_text(example)
    (tmp_path / "problems.py").write_text((folder / "problems.py").read_text())
    (study,) = expand(list_figures(tmp_path)["my_figure"], "quick", None)
    assert study["corpora"][0]["subsets"]["size"] == 80 and study["corpora"][0]["synthetic"]["features"] == 109


def test_figures_come_paper_by_paper_and_by_number():
    names = list(list_figures(figures_folder()))
    assert names.index("wolfenfeld_figure_2") < names.index("wolfenfeld_figure_10") < names.index("state_of_the_art")
    assert names[0].startswith("beat_the_mean")

"""Files of figures: what they may contain, and the mistakes that are answered by one sentence."""

from __future__ import annotations

import pytest

from ltr_duel.core import InputError
from ltr_duel.papers import figures_folder, list_figures

FIGURE = '''
from ltr_duel.papers import corpus, figure, matrix, measured, real, stored_runs, study, utilities


@figure("rucb", "Figure 4", drawing="regret")
def rucb_figure_4():
    """A title.

    The paper: less regret.

    Setting: as printed

    Note: not as printed
    """
    problem = corpus("NP2004", real("NP2004/Fold1", note="a part"), clicks="informational")
    return [
        study(["rucb"], problem, horizon=1_000_000, repetitions=100, quick={"horizon": 300}),
    ]
'''
STUDY = FIGURE[FIGURE.index("        study(") : FIGURE.rindex("    ]")]


@pytest.fixture
def write(tmp_path):
    """Return a function that writes a file of figures and reads it."""

    def write(text=FIGURE):
        (tmp_path / "rucb.py").write_text(text)
        return list_figures(tmp_path)

    return write


def test_a_figure_has_the_texts_of_its_docstring_and_the_settings_of_each_scale(write):
    (figure,) = write().values()
    assert figure.facts["title"] == "A title" and figure.facts["shows"] == "The paper: less regret."
    assert figure.facts["setting"] == "as printed" and figure.facts["notes"] == ["not as printed"]
    (study,) = figure.studies
    assert study.at("quick") == {"horizon": 300, "repetitions": 100} and study.at("paper")["horizon"] == 1_000_000
    assert figure.data == ["NP2004/Fold1"] and figure.line[0] == "rucb_figure_4"


def test_a_figure_is_shortened_if_anything_differs_at_the_quick_scale(write):
    same = FIGURE.replace(', quick={"horizon": 300}', "")
    studies = (FIGURE, same, same.replace("repetitions=100", "repetitions=100, in_quick=False"))
    assert [write(text)["rucb_figure_4"].shortened for text in studies] == [True, False, True]
    fewer = same.replace('clicks="informational"', 'quick={"comparisons": 9}')
    assert write(fewer)["rucb_figure_4"].shortened


def test_a_problem_is_declared_once_and_used_with_other_settings(write, tmp_path):
    declared = 'ARMS = utilities(set=["1good5poor"], name="arms", quick={"name": "few"})\n'
    (tmp_path / "problems.py").write_text(f"from ltr_duel.papers import utilities\n{declared}")
    text = FIGURE.replace("\n\n\n@figure", "\nfrom .problems import ARMS\n@figure")
    (study,) = write(text.replace("problem, horizon", 'ARMS.using(set=["arith6"]), horizon'))["rucb_figure_4"].studies
    assert [study.problems[0].at(scale)["name"] for scale in ("paper", "quick")] == ["arms", "few"]
    assert study.problems[0].at("paper")["set"] == ["arith6"]


@pytest.mark.parametrize(
    "change, words",
    [
        (("@figure(", "@figur("), ["line 5: NameError: name 'figur' is not defined"]),
        (('figure("rucb"', 'figure("rocb"'), ["line 5: no paper 'rocb'; did you mean 'rucb'?"]),
        (("A title.\n\n", ""), ["the docstring of figure 'rucb_figure_4' must have the paragraphs: a title"]),
        (("The paper: ", ""), ["must have the paragraphs: a title, 'The paper: ...'"]),
        ((STUDY, ""), ["figure 'rucb_figure_4' must return a list that contains only study(...) or only measured"]),
        ((STUDY, STUDY + '        measured(stored_runs, file="x"),\n'), ["contains only study(...) or only measured"]),
        ((STUDY, '        measured(stored_runs, fill="x"),\n'), ["TypeError: missing a required argument: 'file'"]),
        (("def rucb_figure_4", "def f(x)\ndef rucb_figure_4"), ["rucb.py, line 6: expected ':'"]),
    ],
)
def test_a_mistake_in_a_figure_file_is_answered_by_one_sentence(write, change, words):
    assert change[0] in FIGURE
    with pytest.raises(InputError) as caught:
        write(FIGURE.replace(*change, 1))
    message = str(caught.value)
    assert "rucb.py" in message and "\n" not in message
    assert all(word in message for word in words), message


def test_a_folder_without_figures_is_refused(tmp_path):
    with pytest.raises(InputError, match="no figure files"):
        list_figures(tmp_path)


def test_the_papers_come_in_turn_with_their_figures_by_number_and_distinct_rows():
    figures = list_figures(figures_folder())
    papers = [figure.facts["paper"] for figure in figures.values()]
    assert list(dict.fromkeys(papers)) == ["beat_the_mean", "rucb", "multi_dueling", "wolfenfeld"]
    names = list(figures)
    assert names.index("multi_dueling_figure_2") < names.index("multi_dueling_figure_6")
    rows = [row.name for figure in figures.values() for row in figure.rows]
    assert len(rows) == len(set(rows)) and all(
        set(row.also) <= set(figures) for f in figures.values() for row in f.rows
    )


def test_the_example_of_the_readme_is_a_figure(tmp_path):
    folder = figures_folder()
    example = (folder / "README.md").read_text(encoding="utf-8").partition("```python\n")[2].partition("```")[0]
    (tmp_path / "mine.py").write_text(example)
    (tmp_path / "problems.py").write_text((folder / "problems.py").read_text(encoding="utf-8"))
    assert list(list_figures(tmp_path)) == ["my_figure"]

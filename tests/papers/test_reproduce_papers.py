"""Runs of the papers' figure files: one shortened file of each paper, and all files at the quick scale."""

from __future__ import annotations

import dataclasses
import json

import pytest

from ltr_duel.analysis.style import save_figure
from ltr_duel.papers.figure_files import figures_folder, list_figures
from ltr_duel.papers.figures import DRAWINGS
from ltr_duel.papers.reproduce import make_figure
from tests.experiment.conftest import finish, start


def cut_down(study):
    """Keep the form of the study, at little cost."""
    several = isinstance(study.settings["horizon"], list)
    settings = study.settings | {"horizon": [100, 300] if several else 300, "repetitions": 2}
    cuts = {"utilities": {"set": ["1good5poor", "arith6"]}, "matrices": {"size": [5, 7]}, "corpora": {}}
    problems = []
    for problem in study.problems:
        small = {key: one for key, one in cuts[problem.kind].items() if key in problem.settings}
        small |= {"comparisons": 1000} if problem.kind == "corpora" else {}
        problems.append(dataclasses.replace(problem, settings={**problem.settings, **small}, quick={}))
    return dataclasses.replace(study, policies=study.policies[:2], problems=problems, settings=settings, quick={})


@pytest.mark.parametrize(
    "name, problems, columns",
    [
        ("beat_the_mean_figure_2_top", 2, {"gamma", "size", "family"}),
        ("rucb_figure_4", 3, {"correct", "subset", "lower_bound"}),
        ("multi_dueling_figure_1", 2, {"model"}),
        ("wolfenfeld_figure_3", 3 + 4, {"regret_utility", "family"}),
    ],
)
def test_one_figure_of_each_paper_from_file_to_picture(name, problems, columns, tmp_path):
    figure = list_figures(figures_folder())[name]
    figure = dataclasses.replace(figure, studies=[cut_down(study) for study in figure.studies])
    made = make_figure(figure, tmp_path, scale="quick", root=None, jobs=1)
    assert made.frame["problem"].nunique() == problems and columns <= set(made.frame.columns)
    assert made.frame.loc[made.frame["t"] == made.frame["horizon"], "regret_average"].gt(0).all()

    def drawn():
        drawing = DRAWINGS[figure.about["drawing"]](made.frame, made.about, **made.about["figure"].get("options", {}))
        return [save_figure(drawing, tmp_path / f"figure.{kind}").read_bytes() for kind in ("png", "svg")]

    assert drawn() == drawn()


@pytest.mark.long
def test_everything_at_the_quick_scale_without_any_data(tmp_path):
    code, _, err = finish(start("reproduce", "all", "claims", "--scale", "quick", "--out", tmp_path), 3600)
    assert code == 0, err
    figures = list_figures(figures_folder())
    made = {path.parent.name for path in tmp_path.glob("*/about.json")}
    assert set(figures) - made == {"rucb_own_matrix", "real_corpora"}  # these have no surrogate
    assert all((tmp_path / name / "figure.svg").stat().st_size > 1000 for name in made)
    assert len(json.loads((tmp_path / "claims.json").read_text())) > 40
    assert "× bound" in (tmp_path / "state_of_the_art.md").read_text()
    sources = {
        one["source"] for path in tmp_path.glob("*/about.json") for one in json.loads(path.read_text())["sources"]
    }
    assert sources <= {"surrogate", "as in the paper", "made by a rule", "published matrix"}

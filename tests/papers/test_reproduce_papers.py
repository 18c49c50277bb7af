"""The papers' own figure files, run: one of each paper cut down to a moment, and all of them at the quick scale."""

from __future__ import annotations

import dataclasses
import json

import pytest

from ltr_duel.analysis.style import save_figure
from ltr_duel.papers.figure_file import figures_folder, list_figures
from ltr_duel.papers.figures import DRAWINGS
from ltr_duel.papers.reproduce import make_figure
from tests.experiment.conftest import finish, start


def cut_down(study):
    """Keep the study's form, and little of its cost."""
    several = isinstance(study["horizon"], list)
    small = study | {"horizon": [100, 300] if several else 300, "repetitions": 2, "policies": study["policies"][:2]}
    small.pop("quick", None)
    for kind, cuts in (("utilities", {"set": ["1good5poor", "arith6"]}), ("matrices", {"size": [5, 7]})):
        parts = [{key: one for key, one in part.items() if key != "quick"} for part in small.get(kind, ())]
        small[kind] = [part | {key: one for key, one in cuts.items() if key in part} for part in parts]
    small["corpora"] = [part | {"comparisons": 1000} for part in small.get("corpora", ())]
    return {key: one for key, one in small.items() if one}


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
    file = list_figures(figures_folder())[name]
    file = dataclasses.replace(file, studies=[cut_down(study) for study in file.studies])
    made = make_figure(file, tmp_path, scale="quick", root=None, jobs=1)
    assert made.frame["problem"].nunique() == problems and columns <= set(made.frame.columns)
    assert made.frame.loc[made.frame["t"] == made.frame["horizon"], "regret_average"].gt(0).all()

    def drawn():
        figure = DRAWINGS[file.figure.drawing](made.frame, made.about, **made.about["figure"].get("options", {}))
        return [save_figure(figure, tmp_path / f"figure.{kind}").read_bytes() for kind in ("png", "svg")]

    assert drawn() == drawn()


@pytest.mark.long
def test_everything_at_the_quick_scale_without_any_data(tmp_path):
    code, _, err = finish(start("reproduce", "all", "claims", "--scale", "quick", "--out", tmp_path), 3600)
    assert code == 0, err
    figures = list_figures(figures_folder())
    made = {path.parent.name for path in tmp_path.glob("*/about.json")}
    assert set(figures) - made == {"rucb_own_matrix"}  # it compares with the published matrix
    assert all((tmp_path / name / "figure.svg").stat().st_size > 1000 for name in made)
    assert len(json.loads((tmp_path / "claims.json").read_text())) > 40
    assert "× bound" in (tmp_path / "state_of_the_art.md").read_text()
    sources = {
        one["source"] for path in tmp_path.glob("*/about.json") for one in json.loads(path.read_text())["sources"]
    }
    assert sources <= {"stand-in", "as in the paper", "made by a rule", "published matrix"}

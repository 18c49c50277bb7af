"""Labels of logarithmic axes equal matplotlib's, without mathematical text."""

import pytest
from matplotlib.figure import Figure

from ltr_duel.analysis.style import write_powers_as_text


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [(1, 1e4, ["10⁰", "10²", "10⁴"]), (0.001, 0.1, ["10⁻³", "10⁻¹"]), (110, 900, ["2×10²", "6×10²"])],
)
def test_each_tick_has_the_power_that_it_stands_for(low, high, expected):
    ax = Figure().add_subplot()
    ax.set(xscale="log", xlim=(low, high), yscale="log", ylim=(low, high))
    write_powers_as_text(ax.figure)
    ax.figure.canvas.draw()
    for axis in (ax.xaxis, ax.yaxis):
        labels = [text.get_text() for text in axis.get_ticklabels(which="both")]
        assert set(expected) <= set(labels) and not [label for label in labels if "$" in label]


def test_labels_that_somebody_chose_stay():
    ax = Figure().add_subplot()
    ax.set(xscale="log", xlim=(1, 100))
    ax.set_xticks([1, 10], ["one", "ten"])
    write_powers_as_text(ax.figure)
    ax.figure.canvas.draw()
    assert [text.get_text() for text in ax.get_xticklabels()] == ["one", "ten"]

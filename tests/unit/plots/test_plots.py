"""What all plots have in common: axes, figures, refusals, imports."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pandas as pd
import pytest
from helpers.plot_cases import CASE, MARKS, OUTLIERS, WIDE, cv_model, detector, plane_model, tolerance_path, wide_model
from matplotlib import pyplot as plt
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from sklearn.exceptions import NotFittedError

import momentlp as mlp
from momentlp.plots import love_plot, membership_plot, new_axes, path_plot, score_plot, selection_plot

DRAWINGS = {
    "membership": lambda axes: membership_plot(plane_model(), CASE.X, axes),
    "membership of many columns": lambda axes: membership_plot(wide_model(), WIDE, axes),
    "membership of a detector": lambda axes: membership_plot(detector(), OUTLIERS, axes),
    "love": lambda axes: love_plot(plane_model(), axes),
    "scores": lambda axes: score_plot(plane_model(), CASE.X, axes),
    "selection": lambda axes: selection_plot(cv_model(), axes),
    "path": lambda axes: path_plot(tolerance_path(), axes, memberships=True),
}


@pytest.mark.parametrize("draw", DRAWINGS.values(), ids=list(DRAWINGS))
def test_axes_that_are_given_are_drawn_on_and_returned(draw: Any, tmp_path: Path) -> None:
    figure = Figure()
    left, right = figure.subplots(1, 2)
    assert draw(right) is right
    assert right.has_data()
    assert not left.has_data()
    assert figure.axes == [left, right]
    figure.savefig(tmp_path / "picture.png")


@pytest.mark.parametrize("draw", DRAWINGS.values(), ids=list(DRAWINGS))
def test_titles_legends_and_labels_of_neighbouring_axes_do_not_overlap(draw: Any) -> None:
    figure = Figure(figsize=(12, 4))
    FigureCanvasAgg(figure)
    row = figure.subplots(1, 3)
    for axes in row:
        draw(axes).set_title("a title of one's own")
    figure.canvas.draw()
    for axes in row:
        title, words = axes.title.get_window_extent(), axes.get_legend().get_window_extent()
        assert not title.overlaps(words)
        assert axes.bbox.padded(1).containsx(words.x0)
        assert axes.bbox.padded(1).containsx(words.x1)
    for left, right in pairwise(row):
        assert left.xaxis.label.get_window_extent().x1 < right.xaxis.label.get_window_extent().x0


@pytest.mark.parametrize("draw", DRAWINGS.values(), ids=list(DRAWINGS))
def test_without_axes_a_plot_has_a_pyplot_figure_of_its_own(draw: Any) -> None:
    first, second = draw(None), draw(None)
    assert first.figure is not second.figure
    assert plt.get_fignums() == [first.figure.number, second.figure.number]
    assert plt.gca() is second


@pytest.mark.parametrize("draw", DRAWINGS.values(), ids=list(DRAWINGS))
def test_with_axes_pyplot_gets_no_new_figure(draw: Any) -> None:
    draw(Figure().subplots())
    assert plt.get_fignums() == []


def test_a_figure_for_a_file_is_unknown_to_pyplot() -> None:
    assert new_axes(use_pyplot=False).figure.get_layout_engine() is not None
    assert plt.get_fignums() == []


def test_drawing_does_not_switch_the_backend() -> None:
    before = mpl.get_backend()
    new_axes()
    assert mpl.get_backend() == before


@pytest.mark.parametrize("draw", DRAWINGS.values(), ids=list(DRAWINGS))
def test_without_matplotlib_the_error_says_what_to_install(draw: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    draw(None)  # models are fitted, and all modules loaded
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(mlp.ExtraMissingError, match=r"momentlp\[plot\]"):
        draw(None)


@pytest.mark.parametrize("model", [mlp.MomentClassifier(), mlp.MomentClassifierCV(), mlp.MomentOutlierDetector()])
@pytest.mark.parametrize("draw", [membership_plot, score_plot])
def test_a_model_that_was_not_fitted_is_refused(draw: Any, model: Any) -> None:
    with pytest.raises(NotFittedError):
        draw(model, CASE.X)
    with pytest.raises(NotFittedError):
        love_plot(model)


@pytest.mark.parametrize("wrong", [None, "model", mlp.MomentClassifier, CASE.X])
def test_other_objects_are_refused(wrong: Any) -> None:
    for draw in (membership_plot, score_plot):
        with pytest.raises(mlp.DataError, match="model must be a fitted MomentClassifier"):
            draw(wrong, CASE.X)
    with pytest.raises(mlp.DataError, match="model must be a fitted MomentClassifier"):
        love_plot(wrong)
    with pytest.raises(mlp.DataError, match="model must be a fitted MomentClassifierCV"):
        selection_plot(wrong)
    with pytest.raises(mlp.DataError, match=r"path must be a Path.*momentlp\.path"):
        path_plot(wrong)


@pytest.mark.parametrize("draw", [membership_plot, score_plot])
def test_points_other_than_those_searched_are_refused(draw: Any) -> None:
    with pytest.raises(mlp.DataError, match=r"X has shape \(5, 2\), but the answer is for 1050 points in 2 column"):
        draw(plane_model(), CASE.X[:5])
    with pytest.raises(mlp.DataError, match=r"X has shape \(1050, 4\)"):
        draw(plane_model(), WIDE)
    frame = pd.DataFrame(CASE.X, columns=["a", "b"])
    named = mlp.MomentClassifier("linear").fit(frame, MARKS)
    with pytest.raises(mlp.DataError, match="column 'b' where 'a' is expected"):
        draw(named, frame[["b", "a"]])


def test_importing_the_plots_loads_neither_matplotlib_nor_scikit_learn() -> None:
    code = "import momentlp.plots, sys; print(*(name for name in ('matplotlib', 'sklearn') if name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == ""

"""score_plot: the distribution of the scores, and the cut-off."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.plot_cases import CASE, MARKS, OUTLIERS, count_in_bars, detector, legend_texts, plane_model

import momentlp as mlp
from momentlp.plots import score_plot


def test_every_point_is_counted_once() -> None:
    axes = score_plot(plane_model(), CASE.X)
    assert legend_texts(axes) == ["unlabelled, out", "unlabelled, found", "labelled"]
    assert count_in_bars(axes) == len(CASE.X)
    assert axes.get_yscale() == "log"


@pytest.mark.parametrize("smoothing", ["auto", None])
def test_the_cut_off_lies_between_the_bars_of_those_out_and_those_found(smoothing: Any) -> None:
    model = mlp.MomentClassifier(mlp.Spectral(6, 5), smoothing=smoothing).fit(CASE.X, MARKS)
    axes = score_plot(model, CASE.X)
    assert [line.get_xdata()[0] for line in axes.lines] == [model.offset_]
    out, found, _ = axes.containers
    assert max(bar.get_x() + bar.get_width() for bar in out if bar.get_height()) <= model.offset_ + 1e-12
    assert min(bar.get_x() for bar in found if bar.get_height()) >= model.offset_ - 1e-12
    assert sum(bar.get_height() for bar in found) == ((model.membership_ > 0.5) & (MARKS == 0)).sum()


def test_the_title_shows_the_class_prior() -> None:
    assert (
        score_plot(plane_model(), CASE.X).get_title()
        == f"class prior: {plane_model().class_prior_:.1%} of the unlabelled points"
    )
    assert score_plot(detector(), OUTLIERS).get_title() == "outliers: 5.0% of the points"


def test_scores_far_below_are_counted_in_the_first_bar() -> None:
    far = np.vstack([CASE.X, [[1000.0, 1000.0]]])
    model = mlp.MomentClassifier("quadratic", 1.0).fit(far, [*MARKS, 0])
    axes = score_plot(model, far)
    assert axes.get_xlabel().endswith("are in the first bar")
    assert count_in_bars(axes) == len(far)
    assert axes.get_xlim()[0] > model.score_samples(far).min() / 10


def test_a_model_that_found_nothing_can_be_drawn() -> None:
    X = np.array([[0.0], [0.1], [5.0], [6.0], [7.0]])
    with pytest.warns(mlp.OnlyLabelledWarning):
        model = mlp.MomentClassifier("linear", 0.0).fit(X, [1, 1, 0, 0, 0])
    assert legend_texts(score_plot(model, X)) == ["unlabelled, out", "labelled"]

"""selection_plot: how the cross-validation chose."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.clouds import clouds
from helpers.plot_cases import CASE, MARKS, WIDE, cv_model, legend_texts, plane_model
from sklearn.exceptions import NotFittedError

import momentlp as mlp
from momentlp.plots import selection_plot


def test_every_feature_map_has_a_line_named_by_the_parameters_that_differ() -> None:
    assert legend_texts(selection_plot(cv_model()))[:3] == ["linear", "kernel, gamma 0.1", "kernel, gamma 0.5"]


def test_the_best_and_the_choice_are_marked() -> None:
    axes, tried = selection_plot(cv_model()), cv_model().cv_results_
    marks = {points.get_label(): points.get_offsets()[0] for points in axes.collections if points.get_label()[0] != "_"}
    assert set(marks) == {"best", "chosen"}
    assert marks["chosen"][1] == cv_model().best_score_
    assert marks["chosen"][0] == pytest.approx(cv_model().best_params_["tolerance"], rel=0.05)
    assert marks["best"][1] == tried["mean_test_score"][tried["mean_recall"] >= 0.5].max()
    level = next(line for line in axes.lines if line.get_label() == "best less one standard error")
    assert level.get_ydata()[0] == cv_model().one_standard_error_ <= marks["chosen"][1]


def test_the_axis_is_logarithmic_and_names_the_tolerances() -> None:
    axes = selection_plot(cv_model())
    assert axes.get_xscale() == "log"
    assert [label.get_text() for label in axes.get_xticklabels()] == ["0.5", "1", "2"]


def test_candidates_that_found_less_than_half_are_hollow_and_have_no_bar() -> None:
    few = np.vstack([WIDE[:40], WIDE[300:400]])
    tight = mlp.MomentClassifierCV("quadratic", tolerances=(0.0, 1.0, 2.0), cv=3, random_state=0)
    recall = tight.fit(few, [1] * 25 + [0] * 115).cv_results_["mean_recall"]
    assert (recall >= 0.5).tolist() == [True, True, False]
    axes = selection_plot(tight)
    hollow = [line for line in axes.lines if line.get_markerfacecolor() == "white" and len(line.get_xdata())]
    assert [line.get_xdata().tolist() for line in hollow] == [[0.0]]
    assert len(axes.containers[0].lines[0].get_xdata()) == 2
    assert "not eligible: recall below 0.5" in legend_texts(axes)
    assert axes.get_xscale() == "symlog"  # zero has no logarithm


@pytest.mark.parametrize(
    ("options", "x", "y"),
    [
        ({}, "tolerance, in standard errors", "recall² / share found"),
        ({"tolerance": 1.0}, "tolerance, in standard errors", "recall² / share found"),
        ({"tolerance": mlp.Relative(0.1)}, "multiple of the tolerance", "recall² / share found"),
        ({"criterion": "difference"}, "tolerance, in standard errors", "recall - share found"),
    ],
    ids=str,
)
def test_the_axes_say_what_is_drawn(options: Any, x: str, y: str) -> None:
    model = mlp.MomentClassifierCV(["linear", "linear"], tolerances=[1.0], cv=2, random_state=0, **options)
    axes = selection_plot(model.fit(CASE.X, MARKS))
    assert (axes.get_xlabel(), axes.get_ylabel()) == (x, y)


def test_a_user_defined_criterion_is_named() -> None:
    def mine(recall: Any, share: Any) -> Any:
        return recall

    model = mlp.MomentClassifierCV("linear", tolerances=[1.0], cv=2, criterion=mine, random_state=0).fit(CASE.X, MARKS)
    assert selection_plot(model).get_ylabel() == "mine"


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.FitFailedWarning")
def test_candidates_without_an_answer_are_not_drawn() -> None:
    X, _, y = clouds()
    large = mlp.Share(0.35, 1.0)  # more than the products allow
    model = mlp.MomentClassifierCV(["quadratic", "linear"], constraints=[large], random_state=0).fit(X, y)
    axes, tried = selection_plot(model), model.cv_results_
    rings = [mark for mark in axes.collections if mark.get_label() == "best"]
    assert rings[0].get_offsets()[0][1] == np.nanmax(tried["mean_test_score"])
    assert "not eligible: recall below 0.5" not in legend_texts(axes)


def test_a_model_that_chooses_nothing_is_refused() -> None:
    with pytest.raises(mlp.DataError, match="not MomentClassifier: only that one chooses features"):
        selection_plot(plane_model())
    with pytest.raises(NotFittedError):
        selection_plot(mlp.MomentClassifierCV())

"""membership_plot: the points found, those not found, and the curve between them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from helpers.plot_cases import (
    CASE,
    MARKS,
    OUTLIERS,
    WIDE,
    count_in_bars,
    count_points,
    detector,
    legend_texts,
    plane_model,
    wide_model,
)

import momentlp as mlp
from momentlp.datasets.synthetic import make_gaussian, make_ring, make_separable
from momentlp.plots import membership_plot, score_plot


def test_every_point_of_the_plane_is_drawn_once_with_the_curve() -> None:
    axes = membership_plot(plane_model(), CASE.X)
    assert legend_texts(axes) == ["out", "found", "labelled"]
    assert count_points(axes) == len(CASE.X)
    sizes = {points.get_label(): len(points.get_offsets()) for points in axes.collections}
    assert sizes["labelled"] == len(CASE.labelled)
    assert sizes["found"] == ((plane_model().membership_ > 0.5) & (MARKS == 0)).sum()
    assert len(axes.collections) == 4  # three groups of points and the curve


def test_the_curve_is_where_the_decision_changes() -> None:
    curve = membership_plot(plane_model(), CASE.X).collections[-1].get_paths()[0].vertices
    near = plane_model().decision_function(np.vstack([curve * 1.05, curve * 0.95]))
    assert np.abs(plane_model().decision_function(curve)).max() < 0.05 * np.abs(near).max()


def test_the_smaller_label_may_be_the_class() -> None:
    model = mlp.MomentClassifier("quadratic", 1.0, pos_label=0).fit(CASE.X, 1 - MARKS)
    sizes = [len(points.get_offsets()) for points in membership_plot(model, CASE.X).collections[:3]]
    assert sizes == [len(points.get_offsets()) for points in membership_plot(plane_model(), CASE.X).collections[:3]]


def test_one_column_is_drawn_against_the_membership() -> None:
    x = CASE.X[:, :1]
    model = mlp.MomentClassifier("quadratic", 1.0).fit(x, MARKS)
    axes = membership_plot(model, x)
    assert axes.get_ylabel() == "membership"
    assert len(axes.lines) == 2  # an interval has two ends
    ends = np.array([[line.get_xdata()[0]] for line in axes.lines])
    steps = np.array([[-0.1], [0.1]])
    assert [model.predict(end + steps).tolist() for end in ends] == [[0, 1], [1, 0]]


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, sp.csr_matrix, pd.DataFrame])
def test_many_columns_become_two_components_and_no_curve(form: Any) -> None:
    axes = membership_plot(wide_model(), form(WIDE) if form is not pd.DataFrame else WIDE)
    assert len(axes.collections) == 3
    assert count_points(axes) == len(WIDE)
    labels = axes.get_xlabel(), axes.get_ylabel()
    values = np.linalg.svd(WIDE - WIDE.mean(axis=0), compute_uv=False) ** 2
    shares = values[:2] / values.sum()
    assert labels == (
        f"first principal component ({shares[0]:.0%} of the variance)",
        f"second principal component ({shares[1]:.0%} of the variance)",
    )


def test_equal_points_can_be_drawn() -> None:
    same = np.ones((20, 3))
    for X in (same, sp.csr_array(same)):
        model = mlp.MomentClassifier("linear").fit(X, [1] * 5 + [0] * 15)
        assert "(0% of the variance)" in membership_plot(model, X).get_xlabel()


def test_a_model_of_a_frame_takes_its_names_for_the_axes() -> None:
    frame = pd.DataFrame(CASE.X, columns=["length", "width"])
    model = mlp.MomentClassifier("quadratic", 1.0).fit(frame, MARKS)
    for X in (frame, CASE.X):
        axes = membership_plot(model, X)
        assert (axes.get_xlabel(), axes.get_ylabel()) == ("length", "width")
        assert len(axes.collections) == 4


def test_a_detector_shows_its_outliers() -> None:
    axes = membership_plot(detector(), OUTLIERS)
    assert legend_texts(axes) == ["inlier", "taken as known", "outlier"]
    sizes = {points.get_label(): len(points.get_offsets()) for points in axes.collections}
    assert sizes["outlier"] == (detector().predict(OUTLIERS) == -1).sum() == 5
    assert count_points(axes) == len(OUTLIERS)


def test_a_model_from_a_file_is_drawn_like_the_one_that_was_saved(tmp_path: Path) -> None:
    plane_model().save(tmp_path / "model.npz")
    again = mlp.MomentClassifier.load(tmp_path / "model.npz")
    assert count_points(membership_plot(again, CASE.X)) == len(CASE.X)
    assert count_in_bars(score_plot(again, CASE.X)) == len(CASE.X)


def test_a_solution_of_weighted_points_is_drawn_by_shares() -> None:
    x, weight = CASE.X[:, :1], np.where(np.arange(len(CASE.X)) % 2, 3.0, 0.5)
    spec = mlp.Spec(features=mlp.Quadratic(), tolerance=mlp.Relative(0.1))
    solution = mlp.solve(spec.compile(x, labelled=CASE.labelled, sample_weight=weight))
    assert solution.membership.max() == pytest.approx(3.0)
    heights = np.concatenate([points.get_offsets()[:, 1] for points in membership_plot(solution, x).collections])
    share = solution.membership / weight
    assert np.allclose(np.sort(heights), np.sort(share), atol=1e-6)
    assert heights.max() <= 1.0


def test_labelled_rows_of_no_weight_are_labelled(tmp_path: Path) -> None:
    weight = np.ones(len(CASE.X))
    weight[CASE.labelled[:5]] = 0.0
    model = mlp.MomentClassifier("quadratic", 1.0).fit(CASE.X, MARKS, weight)
    assert np.array_equal(model.labelled_, MARKS == 1)
    model.save(tmp_path / "model")
    for item in (model, mlp.MomentClassifier.load(tmp_path / "model")):
        sizes = {points.get_label(): len(points.get_offsets()) for points in membership_plot(item, CASE.X).collections}
        assert sizes["labelled"] == len(CASE.labelled)


@pytest.mark.parametrize(
    ("make", "features", "tolerance"),
    [
        (make_separable, mlp.Linear(), mlp.Absolute(1.0)),
        (make_gaussian, mlp.Quadratic(), mlp.Absolute(5.0)),
        (make_ring, mlp.Spectral(6), mlp.StandardError(0.5)),
    ],
    ids=["plane", "ellipse", "ring"],
)
def test_the_separating_curve_is_drawn_for_every_kind_of_features(
    make: object, features: mlp.FeatureMap, tolerance: mlp.Tolerance, tmp_path: Path
) -> None:
    case = make(0)  # type: ignore[operator]
    solution = mlp.solve(mlp.Spec(features=features, tolerance=tolerance).compile(case.X, labelled=case.labelled))
    axes = membership_plot(solution, case.X)
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["out", "found", "labelled"]
    assert len(axes.collections) == 4  # three groups of points and the curve
    axes.figure.savefig(tmp_path / "plot.png")


def test_points_on_a_line_have_one_vertical_separator() -> None:
    x = np.linspace(0, 1, 50)[:, None]
    solution = mlp.solve(mlp.Spec(tolerance=mlp.Absolute(0.0)).compile(x, mean=[0.2]))
    axes = membership_plot(solution, x)
    assert axes.get_ylabel() == "membership"
    assert len(axes.lines) == 1


def test_points_of_another_number_than_in_the_problem_are_refused() -> None:
    solution = mlp.solve(mlp.Spec(tolerance=mlp.Absolute(5.0)).compile(CASE.X, labelled=CASE.labelled))
    with pytest.raises(mlp.DataError, match=rf"X has shape \({len(CASE.X) - 1}, 2\)"):
        membership_plot(solution, CASE.X[:-1])

"""love_plot: the moments before and after the selection."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
from helpers.plot_cases import CASE, MARKS, cv_model, detector, plane_model
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

import momentlp as mlp
from momentlp.plots import love_plot


@pytest.mark.parametrize("most", [0, -1, 2.5, True, "all"])
def test_less_than_one_moment_is_refused(most: Any) -> None:
    with pytest.raises(mlp.OptionError, match="most must be an integer of at least 1, not"):
        love_plot(plane_model(), most=most)


def test_every_moment_is_shown_unless_fewer_are_asked_for() -> None:
    frame = pd.DataFrame(CASE.X, columns=["a", "b"])
    balance = mlp.solve(mlp.Spec(tolerance=mlp.Absolute(5.0)).compile(frame, labelled=CASE.labelled)).balance()
    axes = Figure().subplots()
    assert love_plot(balance, axes) is axes
    assert {label.get_text() for label in axes.get_yticklabels()} == {"a", "b"}
    assert len(love_plot(balance, Figure().subplots(), most=1).get_yticklabels()) == 1


def test_it_says_how_many_moments_there_are() -> None:
    assert love_plot(plane_model(), most=2).get_ylabel() == "2 of 5 moments"
    assert love_plot(plane_model()).get_ylabel() == ""


def test_products_are_distinguished_from_names_with_spaces() -> None:
    frame = pd.DataFrame(CASE.X, columns=["mean area", "worst area"])
    bound = mlp.Moment(mlp.Quadratic(), 0.0, mlp.Absolute(1e6), name="more")
    problem = mlp.Spec(features=mlp.Quadratic(), tolerance=mlp.Relative(0.1), constraints=[bound]).compile(
        frame, labelled=CASE.labelled
    )
    balance = mlp.solve(problem).balance()
    shown = {label.get_text() for label in love_plot(balance).get_yticklabels()}
    times = "mean area \N{MULTIPLICATION SIGN} worst area"
    assert {"mean area^2", times, f"more: {times}"} < shown
    assert times in str(balance)
    assert "mean area worst area" in [row.name for row in balance]  # by which it is known elsewhere


@pytest.mark.parametrize("model", [plane_model, detector, cv_model], ids=["classifier", "detector", "cv"])
def test_an_estimator_gives_the_picture_of_its_solution(model: Any) -> None:
    fitted = model()
    solution = getattr(fitted, "classifier_", fitted).solution_
    names = [label.get_text() for label in love_plot(fitted).get_yticklabels()]
    assert names == [label.get_text() for label in love_plot(solution.balance()).get_yticklabels()]


LONG_NAMES = ["mean of the concave points of the nucleus", "worst fractal dimension of the cell nucleus"]


def test_long_names_leave_room_for_the_plot() -> None:
    frame = pd.DataFrame(CASE.X, columns=LONG_NAMES)
    axes = love_plot(mlp.MomentClassifier("quadratic", 1.0).fit(frame, MARKS))
    axes.figure.canvas.draw()
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert max(len(name) for name in names) == 40
    assert any(name.endswith("nucleus") and " \N{MULTIPLICATION SIGN} worst" in name for name in names)
    assert axes.bbox.width > axes.figure.bbox.width / 3
    assert all(label.get_window_extent().x0 >= 0 for label in axes.get_yticklabels())


def test_long_names_stay_out_of_neighbouring_axes() -> None:
    frame = pd.DataFrame(CASE.X, columns=LONG_NAMES)
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4))
    love_plot(mlp.MomentClassifier("quadratic", 1.0).fit(frame, MARKS), right)
    figure.canvas.draw()
    assert all(label.get_window_extent().x0 > left.bbox.x1 for label in right.get_yticklabels())


def test_rows_of_constraints_are_left_out() -> None:
    spec = mlp.Spec(tolerance=mlp.Absolute(5.0), constraints=[mlp.Share(high=0.1), mlp.Known(negatives=[0], positives=[1])])
    solution = mlp.solve(spec.compile(pd.DataFrame(CASE.X, columns=["a", "b"]), labelled=CASE.labelled))
    assert [row.name for row in solution.balance() if row.is_constraint] == ["share", "known positives"]
    assert {label.get_text() for label in love_plot(solution).get_yticklabels()} == {"a", "b"}


def test_a_balance_of_constraints_alone_has_nothing_to_draw() -> None:
    with pytest.raises(mlp.DataError, match="nothing but rows of constraints"):
        love_plot(mlp.solve(mlp.Problem.from_arrays([[1.0]], 0.0, 1.0)))


POOL, TARGET = {"age": [20, 30, 40, 90], "educ": [9, 12, 16, 30]}, {"age": [25, 35], "educ": [10, 14]}


def lines(axes: Any) -> list[float]:
    """Return where the dashed lines stand."""
    return sorted(float(line.get_xdata()[0]) for line in axes.lines if line.get_linestyle() == "--")


def test_a_match_is_drawn_with_lines_at_its_tolerance() -> None:
    match = mlp.matching.profile_match(POOL, TARGET, tolerance=0.5, backend="highs")
    axes = love_plot(match, Figure().subplots())
    assert lines(axes) == [-0.5, 0.5]
    assert {label.get_text() for label in axes.get_yticklabels()} == {"age", "educ"}
    assert axes.get_legend().get_texts()[0].get_text() == "before matching"
    assert lines(love_plot(match.balance(), Figure().subplots(), threshold=0.25)) == [-0.25, 0.25]


def test_absolute_differences_are_on_one_side() -> None:
    match = mlp.matching.cardinality_match(
        {"x": [5, 6, 9, 1, 2, 5], "g": list("aaabbb")}, "g", tolerance=0.5, backend="highs"
    )
    axes = love_plot(match, Figure().subplots(), absolute=True)
    assert lines(axes) == [0.5]
    assert min(points.get_offsets()[:, 0].min() for points in axes.collections if len(points.get_offsets())) >= 0
    assert axes.get_xlabel().endswith("(absolute)")


def test_tolerances_that_differ_are_marked_row_by_row() -> None:
    match = mlp.matching.profile_match(POOL, TARGET, tolerance={"age": 0.5, "educ": 0.2}, backend="highs")
    axes = love_plot(match, Figure().subplots())
    assert lines(axes) == []
    assert "tolerance" in [text.get_text() for text in axes.get_legend().get_texts()]


@pytest.mark.parametrize("wrong", [{"threshold": -1}, {"threshold": "0.1"}, {"absolute": "yes"}])
def test_wrong_options_are_refused(wrong: Any) -> None:
    with pytest.raises(mlp.OptionError, match=f"{next(iter(wrong))} must be"):
        love_plot(plane_model(), **wrong)

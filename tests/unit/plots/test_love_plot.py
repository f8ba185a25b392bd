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

"""What the pictures of answers and of estimators show, and what a notebook shows."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from helpers.clouds import clouds
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from sklearn.exceptions import NotFittedError

import momentlp as mlp
from momentlp.datasets.synthetic import make_gaussian
from momentlp.plots import love_plot, membership_plot, path_plot, score_plot, selection_plot
from momentlp.runtime.html_table import html_table

CASE = make_gaussian(0)
MARKS = np.isin(np.arange(len(CASE.X)), CASE.labelled).astype(int)
WIDE = np.column_stack([CASE.X, CASE.X @ [0.5, -1.0] + np.random.default_rng(0).normal(size=len(CASE.X)), CASE.X[:, 0] ** 2])
OUTLIERS = np.vstack([np.random.default_rng(0).normal(size=(95, 2)), np.random.default_rng(1).uniform(6, 9, size=(5, 2))])


@cache
def plane() -> mlp.MomentClassifier:
    return mlp.MomentClassifier("quadratic", 1.0).fit(CASE.X, MARKS)


@cache
def wide() -> mlp.MomentClassifier:
    return mlp.MomentClassifier("linear", 1.0).fit(WIDE, MARKS)


@cache
def detector() -> mlp.MomentOutlierDetector:
    return mlp.MomentOutlierDetector(contamination=0.05).fit(OUTLIERS)


@cache
def chosen() -> mlp.MomentClassifierCV:
    maps = ["linear", mlp.Kernel(gamma=0.1, landmarks=9), mlp.Kernel(gamma=0.5, landmarks=9)]
    return mlp.MomentClassifierCV(maps, tolerances=(0.5, 1.0, 2.0), cv=3, random_state=0).fit(CASE.X, MARKS)


@cache
def along() -> mlp.Path:
    problem = mlp.Spec(features=mlp.Quadratic(), tolerance=mlp.Absolute(1.0)).compile(CASE.X, labelled=CASE.labelled)
    return mlp.path(problem, [100.0, 30.0, 10.0, 3.0])


def legend(axes: Any) -> list[str]:
    return [text.get_text() for text in axes.get_legend().get_texts()]


def drawn(axes: Any) -> int:
    """How many points are scattered over the axes."""
    return sum(len(points.get_offsets()) for points in axes.collections if points.get_label()[:1] != "_")


def heights(axes: Any) -> float:
    """How many points the bars of a histogram hold."""
    return sum(bar.get_height() for bar in axes.patches)


DRAWINGS = {
    "membership": lambda axes: membership_plot(plane(), CASE.X, axes),
    "membership of many columns": lambda axes: membership_plot(wide(), WIDE, axes),
    "membership of a detector": lambda axes: membership_plot(detector(), OUTLIERS, axes),
    "love": lambda axes: love_plot(plane(), axes),
    "scores": lambda axes: score_plot(plane(), CASE.X, axes),
    "selection": lambda axes: selection_plot(chosen(), axes),
    "path": lambda axes: path_plot(along(), axes, memberships=True),
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
def test_titles_legends_and_labels_of_axes_in_a_row_keep_apart(draw: Any) -> None:
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
def test_without_axes_a_picture_has_a_figure_of_its_own(draw: Any) -> None:
    first, second = draw(None), draw(None)
    assert first.figure is not second.figure


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
def test_something_else_is_refused(wrong: Any) -> None:
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
        draw(plane(), CASE.X[:5])
    with pytest.raises(mlp.DataError, match=r"X has shape \(1050, 4\)"):
        draw(plane(), WIDE)
    frame = pd.DataFrame(CASE.X, columns=["a", "b"])
    named = mlp.MomentClassifier("linear").fit(frame, MARKS)
    with pytest.raises(mlp.DataError, match="column 'b' where 'a' is expected"):
        draw(named, frame[["b", "a"]])


class TestMembership:
    def test_every_point_of_the_plane_is_drawn_once_with_the_curve(self) -> None:
        axes = membership_plot(plane(), CASE.X)
        assert legend(axes) == ["out", "found", "labelled"]
        assert drawn(axes) == len(CASE.X)
        sizes = {points.get_label(): len(points.get_offsets()) for points in axes.collections}
        assert sizes["labelled"] == len(CASE.labelled)
        assert sizes["found"] == ((plane().membership_ > 0.5) & (MARKS == 0)).sum()
        assert len(axes.collections) == 4  # three groups of points and the curve

    def test_the_curve_is_where_the_decision_changes(self) -> None:
        curve = membership_plot(plane(), CASE.X).collections[-1].get_paths()[0].vertices
        near = plane().decision_function(np.vstack([curve * 1.05, curve * 0.95]))
        assert np.abs(plane().decision_function(curve)).max() < 0.05 * np.abs(near).max()

    def test_the_smaller_label_may_be_the_class(self) -> None:
        model = mlp.MomentClassifier("quadratic", 1.0, pos_label=0).fit(CASE.X, 1 - MARKS)
        sizes = [len(points.get_offsets()) for points in membership_plot(model, CASE.X).collections[:3]]
        assert sizes == [len(points.get_offsets()) for points in membership_plot(plane(), CASE.X).collections[:3]]

    def test_one_column_is_drawn_against_the_membership(self) -> None:
        x = CASE.X[:, :1]
        model = mlp.MomentClassifier("quadratic", 1.0).fit(x, MARKS)
        axes = membership_plot(model, x)
        assert axes.get_ylabel() == "membership"
        assert len(axes.lines) == 2  # an interval has two ends
        ends = np.array([[line.get_xdata()[0]] for line in axes.lines])
        steps = np.array([[-0.1], [0.1]])
        assert [model.predict(end + steps).tolist() for end in ends] == [[0, 1], [1, 0]]

    @pytest.mark.parametrize("form", [np.asarray, sp.csr_array, sp.csr_matrix, pd.DataFrame])
    def test_many_columns_become_two_components_and_no_curve(self, form: Any) -> None:
        axes = membership_plot(wide(), form(WIDE) if form is not pd.DataFrame else WIDE)
        assert len(axes.collections) == 3
        assert drawn(axes) == len(WIDE)
        labels = axes.get_xlabel(), axes.get_ylabel()
        values = np.linalg.svd(WIDE - WIDE.mean(axis=0), compute_uv=False) ** 2
        shares = values[:2] / values.sum()
        assert labels == (
            f"first principal component ({shares[0]:.0%} of the variance)",
            f"second principal component ({shares[1]:.0%} of the variance)",
        )

    def test_points_that_are_all_alike_can_be_drawn(self) -> None:
        same = np.ones((20, 3))
        for X in (same, sp.csr_array(same)):
            model = mlp.MomentClassifier("linear").fit(X, [1] * 5 + [0] * 15)
            assert "(0% of the variance)" in membership_plot(model, X).get_xlabel()

    def test_a_model_of_a_frame_takes_its_names_for_the_axes(self) -> None:
        frame = pd.DataFrame(CASE.X, columns=["length", "width"])
        model = mlp.MomentClassifier("quadratic", 1.0).fit(frame, MARKS)
        for X in (frame, CASE.X):
            axes = membership_plot(model, X)
            assert (axes.get_xlabel(), axes.get_ylabel()) == ("length", "width")
            assert len(axes.collections) == 4

    def test_a_detector_shows_its_outliers(self) -> None:
        axes = membership_plot(detector(), OUTLIERS)
        assert legend(axes) == ["inlier", "taken as known", "outlier"]
        sizes = {points.get_label(): len(points.get_offsets()) for points in axes.collections}
        assert sizes["outlier"] == (detector().predict(OUTLIERS) == -1).sum() == 5
        assert drawn(axes) == len(OUTLIERS)

    def test_a_model_from_a_file_is_drawn_like_the_one_that_was_saved(self, tmp_path: Path) -> None:
        plane().save(tmp_path / "model.npz")
        again = mlp.MomentClassifier.load(tmp_path / "model.npz")
        assert drawn(membership_plot(again, CASE.X)) == len(CASE.X)
        assert heights(score_plot(again, CASE.X)) == len(CASE.X)

    def test_a_solution_of_weighted_points_is_drawn_by_shares(self) -> None:
        x, weight = CASE.X[:, :1], np.where(np.arange(len(CASE.X)) % 2, 3.0, 0.5)
        spec = mlp.Spec(features=mlp.Quadratic(), tolerance=mlp.Relative(0.1))
        solution = mlp.solve(spec.compile(x, labelled=CASE.labelled, sample_weight=weight))
        assert solution.membership.max() == pytest.approx(3.0)
        heights = np.concatenate([points.get_offsets()[:, 1] for points in membership_plot(solution, x).collections])
        share = solution.membership / weight
        assert np.allclose(np.sort(heights), np.sort(share), atol=1e-6)
        assert heights.max() <= 1.0

    def test_labelled_rows_of_no_weight_are_labelled(self, tmp_path: Path) -> None:
        weight = np.ones(len(CASE.X))
        weight[CASE.labelled[:5]] = 0.0
        model = mlp.MomentClassifier("quadratic", 1.0).fit(CASE.X, MARKS, weight)
        assert np.array_equal(model.labelled_, MARKS == 1)
        model.save(tmp_path / "model")
        for each in (model, mlp.MomentClassifier.load(tmp_path / "model")):
            sizes = {points.get_label(): len(points.get_offsets()) for points in membership_plot(each, CASE.X).collections}
            assert sizes["labelled"] == len(CASE.labelled)


class TestLove:
    @pytest.mark.parametrize("most", [0, -1, 2.5, True, "all"])
    def test_no_moment_at_all_is_refused(self, most: Any) -> None:
        with pytest.raises(mlp.OptionError, match="most must be a whole number of at least 1, not"):
            love_plot(plane(), most=most)

    def test_it_says_how_many_moments_there_are(self) -> None:
        assert love_plot(plane(), most=2).get_ylabel() == "2 of 5 moments"
        assert love_plot(plane()).get_ylabel() == ""

    def test_products_are_told_from_names_with_spaces(self) -> None:
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

    @pytest.mark.parametrize("model", [plane, detector, chosen], ids=["classifier", "detector", "cv"])
    def test_an_estimator_gives_the_picture_of_its_solution(self, model: Any) -> None:
        fitted = model()
        solution = getattr(fitted, "classifier_", fitted).solution_
        names = [label.get_text() for label in love_plot(fitted).get_yticklabels()]
        assert names == [label.get_text() for label in love_plot(solution.balance()).get_yticklabels()]


class TestScores:
    def test_every_point_is_counted_once(self) -> None:
        axes = score_plot(plane(), CASE.X)
        assert legend(axes) == ["unlabelled, out", "unlabelled, found", "labelled"]
        assert heights(axes) == len(CASE.X)
        assert axes.get_yscale() == "log"

    @pytest.mark.parametrize("smoothing", ["auto", None])
    def test_the_cut_off_lies_between_the_bars_of_those_out_and_those_found(self, smoothing: Any) -> None:
        model = mlp.MomentClassifier(mlp.Spectral(6, 5), smoothing=smoothing).fit(CASE.X, MARKS)
        axes = score_plot(model, CASE.X)
        assert [line.get_xdata()[0] for line in axes.lines] == [model.offset_]
        out, found, _ = axes.containers
        assert max(bar.get_x() + bar.get_width() for bar in out if bar.get_height()) <= model.offset_ + 1e-12
        assert min(bar.get_x() for bar in found if bar.get_height()) >= model.offset_ - 1e-12
        assert sum(bar.get_height() for bar in found) == ((model.membership_ > 0.5) & (MARKS == 0)).sum()

    def test_the_title_tells_the_class_prior(self) -> None:
        assert score_plot(plane(), CASE.X).get_title() == f"class prior: {plane().class_prior_:.1%} of the unlabelled points"
        assert score_plot(detector(), OUTLIERS).get_title() == "outliers: 5.0% of the points"

    def test_scores_far_below_are_gathered_in_the_first_bar(self) -> None:
        far = np.vstack([CASE.X, [[1000.0, 1000.0]]])
        model = mlp.MomentClassifier("quadratic", 1.0).fit(far, [*MARKS, 0])
        axes = score_plot(model, far)
        assert axes.get_xlabel().endswith("are in the first bar")
        assert heights(axes) == len(far)
        assert axes.get_xlim()[0] > model.score_samples(far).min() / 10

    def test_nothing_found_is_no_trouble(self) -> None:
        X = np.array([[0.0], [0.1], [5.0], [6.0], [7.0]])
        with pytest.warns(mlp.OnlyLabelledWarning):
            model = mlp.MomentClassifier("linear", 0.0).fit(X, [1, 1, 0, 0, 0])
        assert legend(score_plot(model, X)) == ["unlabelled, out", "labelled"]


class TestSelection:
    def test_every_feature_map_has_a_line_named_by_what_sets_it_apart(self) -> None:
        assert legend(selection_plot(chosen()))[:3] == ["linear", "kernel, gamma 0.1", "kernel, gamma 0.5"]

    def test_the_best_and_the_choice_are_marked(self) -> None:
        axes, tried = selection_plot(chosen()), chosen().cv_results_
        marks = {points.get_label(): points.get_offsets()[0] for points in axes.collections if points.get_label()[0] != "_"}
        assert set(marks) == {"best", "chosen"}
        assert marks["chosen"][1] == chosen().best_score_
        assert marks["chosen"][0] == pytest.approx(chosen().best_params_["tolerance"], rel=0.05)
        assert marks["best"][1] == tried["mean_test_score"][tried["mean_recall"] >= 0.5].max()
        level = next(line for line in axes.lines if line.get_label() == "best less one standard error")
        assert level.get_ydata()[0] == chosen().one_standard_error_ <= marks["chosen"][1]

    def test_the_axis_is_logarithmic_and_names_the_tolerances(self) -> None:
        axes = selection_plot(chosen())
        assert axes.get_xscale() == "log"
        assert [label.get_text() for label in axes.get_xticklabels()] == ["0.5", "1", "2"]

    def test_what_found_less_than_half_is_hollow_and_has_no_bar(self) -> None:
        few = np.vstack([WIDE[:40], WIDE[300:400]])
        tight = mlp.MomentClassifierCV("quadratic", tolerances=(0.0, 1.0, 2.0), cv=3, random_state=0)
        recall = tight.fit(few, [1] * 25 + [0] * 115).cv_results_["mean_recall"]
        assert (recall >= 0.5).tolist() == [True, True, False]
        axes = selection_plot(tight)
        hollow = [line for line in axes.lines if line.get_markerfacecolor() == "white" and len(line.get_xdata())]
        assert [line.get_xdata().tolist() for line in hollow] == [[0.0]]
        assert len(axes.containers[0].lines[0].get_xdata()) == 2
        assert "ruled out: recall below 0.5" in legend(axes)
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
    def test_the_axes_say_what_is_drawn(self, options: Any, x: str, y: str) -> None:
        model = mlp.MomentClassifierCV(["linear", "linear"], tolerances=[1.0], cv=2, random_state=0, **options)
        axes = selection_plot(model.fit(CASE.X, MARKS))
        assert (axes.get_xlabel(), axes.get_ylabel()) == (x, y)

    def test_a_criterion_of_your_own_is_named(self) -> None:
        def mine(recall: Any, share: Any) -> Any:
            return recall

        model = mlp.MomentClassifierCV("linear", tolerances=[1.0], cv=2, criterion=mine, random_state=0).fit(CASE.X, MARKS)
        assert selection_plot(model).get_ylabel() == "mine"

    @pytest.mark.filterwarnings("ignore::sklearn.exceptions.FitFailedWarning")
    def test_what_had_no_answer_is_neither_drawn_nor_the_best(self) -> None:
        X, _, y = clouds()
        large = mlp.Share(0.35, 1.0)  # more than the products allow
        model = mlp.MomentClassifierCV(["quadratic", "linear"], constraints=[large], random_state=0).fit(X, y)
        axes, tried = selection_plot(model), model.cv_results_
        rings = [mark for mark in axes.collections if mark.get_label() == "best"]
        assert rings[0].get_offsets()[0][1] == np.nanmax(tried["mean_test_score"])
        assert "ruled out: recall below 0.5" not in legend(axes)

    def test_a_model_that_chooses_nothing_is_refused(self) -> None:
        with pytest.raises(mlp.DataError, match="not MomentClassifier: only that one chooses"):
            selection_plot(plane())
        with pytest.raises(NotFittedError):
            selection_plot(mlp.MomentClassifierCV())


class TestPath:
    def test_the_sizes_are_drawn_along_the_tolerance(self) -> None:
        axes = path_plot(along())
        (line,) = axes.lines
        assert line.get_xdata().tolist() == [3.0, 10.0, 30.0, 100.0]
        assert line.get_ydata().tolist() == along().objectives[::-1].tolist()
        assert axes.get_xscale() == "log"
        assert axes.get_ylim()[0] == 0
        assert axes.get_legend() is None

    def test_multiples_of_the_tolerance_are_told_as_such(self) -> None:
        problem = mlp.Spec(tolerance=mlp.StandardError(1.0)).compile(CASE.X, labelled=CASE.labelled)
        multiples = mlp.path(problem, [2.0, 1.0], relative=True)
        assert path_plot(multiples).get_xlabel() == "multiple of the tolerance"
        assert path_plot(along()).get_xlabel() == "tolerance"
        assert "<th>multiple</th>" in multiples._repr_html_()

    def test_the_share_is_of_all_points(self) -> None:
        axes = path_plot(along(), share=True)
        assert axes.lines[0].get_ydata().tolist() == (along().objectives[::-1] / len(CASE.X)).tolist()
        assert axes.get_ylabel() == "share of the points found"

    def test_tolerances_within_a_decade_stay_linear(self) -> None:
        assert path_plot(mlp.path(along()[0].problem, [4.0, 2.0])).get_xscale() == "linear"

    def test_a_tolerance_of_zero_keeps_its_place(self) -> None:
        assert path_plot(mlp.path(along()[0].problem, [40.0, 2.0, 0.0]), memberships=True).get_xscale() == "symlog"

    def test_other_statuses_break_the_line_and_are_marked(self) -> None:
        problem = mlp.Spec(tolerance=mlp.Absolute(1.0)).compile(CASE.X, mean=[9.0, 0.5])
        found = mlp.path(problem, [400.0, 100.0, 1.0])
        assert [status.name for status in found.statuses] == ["OPTIMAL", "OPTIMAL", "EMPTY"]
        for memberships in (False, True):
            axes = path_plot(found, memberships=memberships)
            assert np.isnan(axes.lines[0].get_ydata()).tolist() == [True, False, False]
            assert "empty: no set has this mean" in legend(axes)

    def test_a_limit_reaches_up_to_the_bound(self) -> None:
        found = mlp.path(along()[0].problem, [1.0], "highs", iteration_limit=3)
        assert found[0].status is mlp.Status.LIMIT
        axes = path_plot(found, memberships=True)
        bar = next(lines for lines in axes.collections if len(lines.get_paths()) == 1 and hasattr(lines, "get_segments"))
        assert bar.get_segments()[0][:, 1].tolist() == pytest.approx([found[0].objective, found[0].bound])

    def test_contradictions_are_marked_at_zero(self) -> None:
        spec = mlp.Spec(tolerance=mlp.Absolute(1.0), constraints=[mlp.Share(low=0.9)])
        found = mlp.path(spec.compile(CASE.X, labelled=CASE.labelled), [2.0])
        axes = path_plot(found)
        assert "infeasible" in legend(axes)
        assert axes.collections[0].get_offsets().tolist() == [[2.0, 0.0]]

    def test_the_memberships_add_up_to_the_sizes(self) -> None:
        axes = path_plot(along(), memberships=True)
        mesh = axes.collections[0]
        strips = np.asarray(mesh.get_array())
        assert strips.shape[1] == len(along())
        height = mesh.get_coordinates()[:, 0, 1]
        sizes = strips.T @ np.diff(height)
        assert np.allclose(sizes, along().objectives[::-1], atol=3)  # fractional points that never come in are left out
        assert legend(axes) == ["the points in it, first come at the bottom", "size of the set"]


class TestNotebook:
    def test_cells_are_escaped(self) -> None:
        html = html_table("<b>", [("a&b", "<script>"), ("alone",)], ("name", "x<y"))
        assert "<script>" not in html
        assert "&lt;script&gt;" in html
        assert "<th>a&amp;b</th>" in html
        assert '<th colspan="2">alone</th>' in html
        assert "<th>x&lt;y</th>" in html

    def test_a_solution_shows_its_figures(self) -> None:
        html = along()[0]._repr_html_()
        assert html.startswith("<table><caption><b>Solution: OPTIMAL</b>")
        assert f"{along()[0].objective:.6g} of 1050" in html

    def test_a_solution_that_is_not_optimal_shows_the_words_of_the_solver(self) -> None:
        solution = mlp.solve(along()[0].problem, "highs", iteration_limit=3)
        assert "Solution: LIMIT" in solution._repr_html_()
        assert "<th>message</th>" in solution._repr_html_()

    def test_a_path_shows_a_row_for_every_tolerance_or_the_ends_of_many(self) -> None:
        assert along()._repr_html_().count("<tr>") == 1 + len(along())
        problem = mlp.Spec(tolerance=mlp.Absolute(1.0)).compile([[0.0], [1.0], [2.0], [9.0]], mean=[1.0])
        html = mlp.path(problem, np.linspace(8, 1, 30))._repr_html_()
        assert html.count("<tr>") == 1 + 21
        assert "... 10 more ..." in html

    def test_an_interval_shows_its_ends(self) -> None:
        interval = mlp.PriorInterval(0.25, 0.2, 0.3, 0.9, np.full(50, 0.25))
        html = interval._repr_html_()
        assert "<th>90% interval</th><td>0.2000 to 0.3000</td>" in html

    def test_a_balance_shows_a_row_for_every_moment_or_the_ends_of_many(self) -> None:
        balance = along()[0].balance()
        assert repr(balance) == str(balance)
        assert repr(balance).splitlines()[0].split()[:2] == ["moment", "target"]
        html = balance._repr_html_()
        assert html.count("<tr>") == 1 + len(balance)
        assert f"share of all points {balance.share:.4f}</b>" in html
        many = mlp.solve(mlp.Spec(features=mlp.Kernel(landmarks=40)).compile(CASE.X, labelled=CASE.labelled)).balance()
        assert "... 20 more ..." in many._repr_html_()
        assert len(repr(many).splitlines()) == 1 + 40 + 1

    def test_a_comparison_and_a_list_of_backends_show_tables(self) -> None:
        compared = mlp.compare(along()[0].problem, ["highs", "scipy"])
        assert repr(compared) == str(compared)
        assert compared._repr_html_().count("<tr>") == 1 + 2
        assert "objectives agree" in compared._repr_html_()
        infos = mlp.backends()
        assert repr(infos).splitlines()[0].split()[:3] == ["backend", "engine", "version"]
        assert infos._repr_html_().count("<tr>") == 1 + len(infos)

    def test_a_certificate_says_whether_it_holds(self) -> None:
        proof = along()[0].certificate
        assert proof._repr_html_().startswith("<table><caption><b>Certificate: holds</b>")
        broken = mlp.Certificate.of(proof.problem, proof.membership * 0.5, proof.multipliers)
        assert "Certificate: does not hold" in broken._repr_html_()

    def test_a_separator_shows_the_features_that_count(self) -> None:
        separator = along()[0].separator
        html = separator._repr_html_()
        assert html.count("<tr>") == 1 + 1 + np.count_nonzero(separator.normal)
        largest = int(np.argmax(np.abs(separator.normal)))
        assert f"<th>offset</th><td>{separator.offset:.6g}</td></tr><tr><th>{separator.names[largest]}</th>" in html

    def test_estimators_with_feature_maps_have_the_table_of_scikit_learn(self) -> None:
        model = mlp.MomentClassifier(mlp.Concat([mlp.Linear(), mlp.Kernel(landmarks=5)]), mlp.StandardError(1.0))
        for fitted in (model, model.fit(CASE.X, MARKS), chosen(), detector()):
            assert type(fitted).__name__ in fitted._repr_html_()


def test_importing_the_plots_loads_neither_matplotlib_nor_scikit_learn() -> None:
    code = "import momentlp.plots, sys; print(*(name for name in ('matplotlib', 'sklearn') if name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == ""

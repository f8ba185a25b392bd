"""path_plot: the size of the set along the tolerance."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.plot_cases import CASE, legend_texts, tolerance_path

import momentlp as mlp
from momentlp.plots import path_plot


def test_the_sizes_are_drawn_along_the_tolerance() -> None:
    axes = path_plot(tolerance_path())
    (line,) = axes.lines
    assert line.get_xdata().tolist() == [3.0, 10.0, 30.0, 100.0]
    assert line.get_ydata().tolist() == tolerance_path().objectives[::-1].tolist()
    assert axes.get_xscale() == "log"
    assert axes.get_ylim()[0] == 0
    assert axes.get_legend() is None


def test_multiples_of_the_tolerance_are_labelled_as_such() -> None:
    problem = mlp.Spec(tolerance=mlp.StandardError(1.0)).compile(CASE.X, labelled=CASE.labelled)
    multiples = mlp.path(problem, [2.0, 1.0], relative=True)
    assert path_plot(multiples).get_xlabel() == "multiple of the tolerance"
    assert path_plot(tolerance_path()).get_xlabel() == "tolerance"
    assert "<th>multiple</th>" in multiples._repr_html_()


def test_the_share_is_of_all_points() -> None:
    axes = path_plot(tolerance_path(), share=True)
    assert axes.lines[0].get_ydata().tolist() == (tolerance_path().objectives[::-1] / len(CASE.X)).tolist()
    assert axes.get_ylabel() == "share of the points found"


def test_tolerances_within_a_decade_stay_linear() -> None:
    assert path_plot(mlp.path(tolerance_path()[0].problem, [4.0, 2.0])).get_xscale() == "linear"


def test_a_tolerance_of_zero_is_drawn() -> None:
    assert path_plot(mlp.path(tolerance_path()[0].problem, [40.0, 2.0, 0.0]), memberships=True).get_xscale() == "symlog"


def test_other_statuses_break_the_line_and_are_marked() -> None:
    problem = mlp.Spec(tolerance=mlp.Absolute(1.0)).compile(CASE.X, mean=[9.0, 0.5])
    found = mlp.path(problem, [400.0, 100.0, 1.0])
    assert [status.name for status in found.statuses] == ["OPTIMAL", "OPTIMAL", "EMPTY"]
    for memberships in (False, True):
        axes = path_plot(found, memberships=memberships)
        assert np.isnan(axes.lines[0].get_ydata()).tolist() == [True, False, False]
        assert "empty: no set has this mean" in legend_texts(axes)


def test_a_limit_reaches_up_to_the_bound() -> None:
    found = mlp.path(tolerance_path()[0].problem, [1.0], "highs", iteration_limit=3)
    assert found[0].status is mlp.Status.LIMIT
    axes = path_plot(found, memberships=True)
    bar = next(lines for lines in axes.collections if len(lines.get_paths()) == 1 and hasattr(lines, "get_segments"))
    assert bar.get_segments()[0][:, 1].tolist() == pytest.approx([found[0].objective, found[0].bound])


def test_infeasible_problems_are_marked_at_zero() -> None:
    spec = mlp.Spec(tolerance=mlp.Absolute(1.0), constraints=[mlp.Share(low=0.9)])
    found = mlp.path(spec.compile(CASE.X, labelled=CASE.labelled), [2.0])
    axes = path_plot(found)
    assert "infeasible" in legend_texts(axes)
    assert axes.collections[0].get_offsets().tolist() == [[2.0, 0.0]]


def test_the_memberships_add_up_to_the_sizes() -> None:
    axes = path_plot(tolerance_path(), memberships=True)
    mesh = axes.collections[0]
    strips = np.asarray(mesh.get_array())
    assert strips.shape[1] == len(tolerance_path())
    height = mesh.get_coordinates()[:, 0, 1]
    sizes = strips.T @ np.diff(height)
    assert np.allclose(sizes, tolerance_path().objectives[::-1], atol=3)  # fractional points that never come in are left out
    assert legend_texts(axes) == ["the points in it, the first to enter at the bottom", "size of the set"]

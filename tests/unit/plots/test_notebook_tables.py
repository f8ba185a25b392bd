"""The tables that a notebook shows for solutions, paths, intervals, certificates and comparisons."""

from __future__ import annotations

import numpy as np
from helpers.plot_cases import CASE, MARKS, cv_model, detector, tolerance_path

import momentlp as mlp
from momentlp.runtime.html_table import html_table


def test_cells_are_escaped() -> None:
    html = html_table("<b>", [("a&b", "<script>"), ("alone",)], ("name", "x<y"))
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
    assert "<th>a&amp;b</th>" in html
    assert '<th colspan="2">alone</th>' in html
    assert "<th>x&lt;y</th>" in html


def test_a_solution_shows_its_figures() -> None:
    html = tolerance_path()[0]._repr_html_()
    assert html.startswith("<table><caption><b>Solution: OPTIMAL</b>")
    assert f"{tolerance_path()[0].objective:.6g} of 1050" in html


def test_a_solution_that_is_not_optimal_shows_the_message_of_the_solver() -> None:
    solution = mlp.solve(tolerance_path()[0].problem, "highs", iteration_limit=3)
    assert "Solution: LIMIT" in solution._repr_html_()
    assert "<th>message</th>" in solution._repr_html_()


def test_a_path_shows_a_row_for_every_tolerance_or_the_ends_of_many() -> None:
    assert tolerance_path()._repr_html_().count("<tr>") == 1 + len(tolerance_path())
    problem = mlp.Spec(tolerance=mlp.Absolute(1.0)).compile([[0.0], [1.0], [2.0], [9.0]], mean=[1.0])
    html = mlp.path(problem, np.linspace(8, 1, 30))._repr_html_()
    assert html.count("<tr>") == 1 + 21
    assert "... 10 more ..." in html


def test_an_interval_shows_its_ends() -> None:
    interval = mlp.PriorInterval(0.25, 0.2, 0.3, 0.9, np.full(50, 0.25))
    html = interval._repr_html_()
    assert "<th>90% interval</th><td>0.2000 to 0.3000</td>" in html


def test_a_balance_shows_a_row_for_every_moment_or_the_ends_of_many() -> None:
    balance = tolerance_path()[0].balance()
    assert repr(balance) == str(balance)
    assert repr(balance).splitlines()[0].split()[:2] == ["moment", "target"]
    html = balance._repr_html_()
    assert html.count("<tr>") == 1 + len(balance)
    assert f"share of all points {balance.share:.4f}</b>" in html
    many = mlp.solve(mlp.Spec(features=mlp.Kernel(landmarks=40)).compile(CASE.X, labelled=CASE.labelled)).balance()
    assert "... 20 more ..." in many._repr_html_()
    assert len(repr(many).splitlines()) == 1 + 40 + 1


def test_a_comparison_and_a_list_of_backends_show_tables() -> None:
    compared = mlp.compare(tolerance_path()[0].problem, ["highs", "scipy"])
    assert repr(compared) == str(compared)
    assert compared._repr_html_().count("<tr>") == 1 + 2
    assert "objectives agree" in compared._repr_html_()
    infos = mlp.backends()
    assert repr(infos).splitlines()[0].split()[:3] == ["backend", "engine", "version"]
    assert infos._repr_html_().count("<tr>") == 1 + len(infos)


def test_a_certificate_says_whether_it_holds() -> None:
    proof = tolerance_path()[0].certificate
    assert proof._repr_html_().startswith("<table><caption><b>Certificate: holds</b>")
    broken = mlp.Certificate.of(proof.problem, proof.membership * 0.5, proof.multipliers)
    assert "Certificate: does not hold" in broken._repr_html_()


def test_a_separator_shows_the_features_that_count() -> None:
    separator = tolerance_path()[0].separator
    html = separator._repr_html_()
    assert html.count("<tr>") == 1 + 1 + np.count_nonzero(separator.normal)
    largest = int(np.argmax(np.abs(separator.normal)))
    assert f"<th>offset</th><td>{separator.offset:.6g}</td></tr><tr><th>{separator.names[largest]}</th>" in html


def test_estimators_with_feature_maps_have_the_table_of_scikit_learn() -> None:
    model = mlp.MomentClassifier(mlp.Concat([mlp.Linear(), mlp.Kernel(landmarks=5)]), mlp.StandardError(1.0))
    for fitted in (model, model.fit(CASE.X, MARKS), cv_model(), detector()):
        assert type(fitted).__name__ in fitted._repr_html_()

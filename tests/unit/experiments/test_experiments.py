"""The experiments themselves, on scikit-learn's digits and on synthetic classes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import momentlp as mlp
from momentlp.experiments.beyond.few_labels import DEFAULT, find_on_graph
from momentlp.experiments.catalogue import EXPERIMENTS, load_experiment
from momentlp.experiments.engine.digit_images import Digits, split
from momentlp.experiments.engine.runner import Experiment, Settings, run
from momentlp.experiments.paper.figure1 import PANELS


def test_every_experiment_has_the_name_under_which_it_is_listed() -> None:
    assert [load_experiment(name).name for name in EXPERIMENTS] == list(EXPERIMENTS)


@pytest.mark.parametrize(
    "name", ["usps-mean", "ocsvm", "inside", "selection", "epsilon", "feature-spaces", "ideas", "digits"]
)
def test_experiments_run_on_other_images_and_give_no_verdict_on_the_paper(tmp_path: Path, digits: Digits, name: str) -> None:
    chosen = load_experiment(name)
    some = Experiment(
        chosen.name,
        chosen.title,
        lambda settings: list(chosen.tasks(settings))[:10] if name == "digits" else list(chosen.tasks(settings)),
        chosen.report,
        needs_epsilon=chosen.needs_epsilon,
    )
    report = run(some, Settings(splits=1, data=digits), tmp_path, jobs=2)
    assert all(claim.holds is None for claim in report.claims)
    assert all((tmp_path / f"{table.name}{ending}").stat().st_size for table in report.tables for ending in (".csv", ".md"))
    assert all((tmp_path / f"{figure}{ending}").stat().st_size for figure in report.figures for ending in (".png", ".svg"))


def test_figure_1_reaches_the_figures_of_the_paper(tmp_path: Path) -> None:
    report = run(load_experiment("figure1"), Settings(splits=20), tmp_path, jobs=2)
    assert [claim.holds for claim in report.claims] == [True] * 3
    assert [row["n"] for row in report.tables[0].rows] == [20] * 2 * len(PANELS)


def test_the_graph_experiment_runs_the_methods_that_users_call(digits: Digits) -> None:
    unlabelled, _, sample = split(digits.X, digits.labels, 20, digits.n_apart, 0)
    found = find_on_graph(unlabelled, sample)
    points, known = np.vstack([unlabelled, sample]), np.repeat([0, 1], [len(unlabelled), len(sample)])
    expected = mlp.MomentClassifier("spectral").fit_predict(points, known)[: len(unlabelled)] == 1
    assert np.array_equal(found[DEFAULT], expected)

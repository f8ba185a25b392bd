"""Draw docs/images/estimator-membership.png and estimator-selection.png, the pictures of the guide to the estimators.

Run ``python -m benchmarks.pictures.draw_estimator``.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_digits

import momentlp as mlp
from benchmarks.common.folders import IMAGES
from momentlp.datasets.synthetic import make_ring
from momentlp.plots import membership_plot, score_plot, selection_plot


def main() -> None:
    """Draw both pictures."""
    draw_membership(IMAGES / "estimator-membership.png")
    draw_selection(IMAGES / "estimator-selection.png")


def draw_membership(path: Path) -> None:
    """Find a ring from forty of its points; draw what was found, and the scores."""
    case = make_ring(0)
    y = np.zeros(len(case.X), dtype=int)
    y[np.random.default_rng(0).choice(case.labelled, 40, replace=False)] = 1
    model = mlp.MomentClassifier().fit(case.X, y)
    figure = Figure(figsize=(11, 4.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    membership_plot(model, case.X, left).set_aspect("equal")
    score_plot(model, case.X, right)
    figure.savefig(path, dpi=130)


def draw_selection(path: Path) -> None:
    """Choose features and tolerance for the eights among scikit-learn's digits, of which fifty are known."""
    X, digit = load_digits(return_X_y=True)
    y = np.zeros(len(X), dtype=int)
    y[np.random.default_rng(0).choice(np.flatnonzero(digit == 8), 50, replace=False)] = 1
    tolerances = (6.4, 3.2, 1.6, 0.8, 0.4, 0.2, 0.1)
    model = mlp.MomentClassifierCV(tolerances=tolerances, cv=10, random_state=0).fit(X, y)
    selection_plot(model).figure.savefig(path, dpi=130)


if __name__ == "__main__":
    main()

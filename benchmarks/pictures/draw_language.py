"""Draw docs/images/language.png: memberships with the separating curve, and the love plot, of the Gaussian case.

Run ``python -m benchmarks.pictures.draw_language``.
"""

from __future__ import annotations

from matplotlib.figure import Figure

import momentlp as mlp
from benchmarks.common.folders import IMAGES
from momentlp.datasets.synthetic import make_gaussian
from momentlp.plots import love_plot, membership_plot


def main() -> None:
    """Solve, draw and save the picture."""
    case = make_gaussian(0)
    spec = mlp.Spec(features=mlp.Quadratic(), tolerance=mlp.Absolute(5.0))
    solution = mlp.solve(spec.compile(case.X, labelled=case.labelled))
    figure = Figure(figsize=(11, 4.6), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=[1.2, 1])
    membership_plot(solution, case.X, left)
    love_plot(solution.balance(), right)
    figure.savefig(IMAGES / "language.png", dpi=130)


if __name__ == "__main__":
    main()

"""Measure what momentlp costs over a direct call of highspy, on the USPS problem of the paper.

Run ``python -m benchmarks.cost.overhead``. It finds the same optimum (6198 points, 256 moments, eps = 30) in three ways:

``highspy``               centre the matrix and pass it to highspy with HiGHS's own defaults, as its examples do;
``highspy, same options`` the same with the options that the ``highs`` backend sets: the rest is the cost of momentlp;
``momentlp``              ``Spec.compile`` and ``solve``: validation, scaling, solving, certificate.
"""

from __future__ import annotations

from typing import Any

import highspy
import numpy as np

import momentlp as mlp
from benchmarks.common.timing import print_ratios, time_interleaved
from benchmarks.common.usps_digits import split_usps_digits

EPS = 30.0


def solve_with_highspy(X: np.ndarray, sample: np.ndarray, options: dict[str, Any]) -> float:
    """Solve the paper's problem with nothing but numpy and highspy."""
    A = X - sample.mean(axis=0)
    n, m = A.shape
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    for name, value in options.items():
        highs.setOptionValue(name, value)
    highs.passModel(
        n, m, n * m, int(highspy.MatrixFormat.kColwise), int(highspy.ObjSense.kMaximize), 0.0,
        np.ones(n), np.zeros(n), np.ones(n), np.full(m, -EPS), np.full(m, EPS),
        np.arange(0, n * m + 1, m, dtype=np.int32), np.tile(np.arange(m, dtype=np.int32), n), A.ravel(),
        np.zeros(n, dtype=np.int32),
    )  # fmt: skip
    highs.run()
    return float(highs.getInfo().objective_function_value)


def solve_with_momentlp(X: np.ndarray, sample: np.ndarray) -> float:
    """Solve the paper's problem as a user would."""
    solution = mlp.solve(mlp.Spec(tolerance=mlp.Absolute(EPS)).compile(X, sample=sample), "highs")
    assert solution.certificate.holds()
    return solution.objective


def main() -> None:
    """Print the three times and their ratios."""
    X, sample = split_usps_digits()
    same = {"presolve": "off", "simplex_scale_strategy": 0}
    objectives = [solve_with_highspy(X, sample, {}), solve_with_highspy(X, sample, same), solve_with_momentlp(X, sample)]
    print(f"objectives: {objectives}")
    seconds = time_interleaved(
        {
            "highspy": lambda: solve_with_highspy(X, sample, {}),
            "highspy, same options": lambda: solve_with_highspy(X, sample, same),
            "momentlp": lambda: solve_with_momentlp(X, sample),
        },
        rounds=9,
    )
    print_ratios(seconds, "highspy")
    print_ratios(seconds, "highspy, same options")


if __name__ == "__main__":
    main()

"""Measure what the solver options that our backends change are worth, on the USPS problem of the paper (eps = 30).

Run ``python -m benchmarks.cost.solver_options``.

GLPK: the long-step ratio test against its own default. HiGHS: no scaling and no presolve against its own defaults.
"""

from __future__ import annotations

import time

import momentlp as mlp
from benchmarks.common.usps_digits import split_usps_digits

VARIANTS = [
    ("highs", "as momentlp runs it", {}),
    ("highs", "HiGHS's own scaling and presolve", {"simplex_scale_strategy": 2, "presolve": "choose"}),
    ("glpk", "as momentlp runs it", {}),
    ("glpk", "GLPK's own ratio test", {"r_test": "har"}),
]


def main() -> None:
    """Print iterations and seconds of one solve by each variant."""
    X, sample = split_usps_digits()
    problem = mlp.Spec(tolerance=mlp.Absolute(30.0)).compile(X, sample=sample)
    for backend, name, options in VARIANTS:
        started = time.perf_counter()
        solution = mlp.solve(problem, backend, options=options)
        seconds = time.perf_counter() - started
        effort = f"{solution.iterations:>7} iterations{seconds:>8.2f} s"
        print(f"{backend:<7}{name:<36}{effort}   objective {solution.objective:.7f}")


if __name__ == "__main__":
    main()

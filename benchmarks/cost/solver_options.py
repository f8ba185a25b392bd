"""What the options that the backends change are worth, on the USPS problem of the paper (eps = 30).

GLPK: the long-step ratio test against its own default. HiGHS: no scaling and no presolve against its own defaults.
"""

from __future__ import annotations

import time

import momentlp as mlp
from benchmarks.common.timing import usps_protocol

WAYS = [
    ("highs", "as momentlp runs it", {}),
    ("highs", "HiGHS's own scaling and presolve", {"simplex_scale_strategy": 2, "presolve": "choose"}),
    ("glpk", "as momentlp runs it", {}),
    ("glpk", "GLPK's own ratio test", {"r_test": "har"}),
]


def main() -> None:
    """Print iterations and seconds of each way, once."""
    X, sample = usps_protocol()
    problem = mlp.Spec(tolerance=mlp.Absolute(30.0)).compile(X, sample=sample)
    for backend, name, options in WAYS:
        started = time.perf_counter()
        solution = mlp.solve(problem, backend, options=options)
        seconds = time.perf_counter() - started
        effort = f"{solution.iterations:>7} iterations{seconds:>8.2f} s"
        print(f"{backend:<7}{name:<36}{effort}   objective {solution.objective:.7f}")


if __name__ == "__main__":
    main()

"""Measure where ``backend="auto"`` should change from ``highs`` to ``sifting``.

Run ``python -m benchmarks.speed.auto_rule``. The points are Gaussian, a fifth of them in the class. The table shows the time
of ``highs`` over that of ``sifting`` for every number of points and moments, as medians of interleaved rounds. Above 1
sifting is faster.
"""

from __future__ import annotations

import argparse

import momentlp as mlp
from benchmarks.common.problems import gaussians
from benchmarks.common.timing import median_ratio, time_interleaved

POINTS = (250, 500, 1000, 1500, 2000, 4000)
MOMENTS = (2, 8, 32, 128, 512)


def compare_speed(n: int, m: int, rounds: int) -> float:
    """Return the median over rounds of the time of HiGHS over that of sifting."""
    problem = gaussians(n, m).compile()
    functions = {name: (lambda name=name: mlp.solve(problem, name)) for name in ("highs", "sifting")}
    seconds = time_interleaved(functions, rounds)
    return median_ratio(seconds["highs"], seconds["sifting"])


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    print("time of highs / time of sifting")
    print(f"{'points':>8}" + "".join(f"{f'm = {m}':>10}" for m in MOMENTS))
    for n in POINTS:
        print(f"{n:>8}" + "".join(f"{compare_speed(n, m, rounds):>10.2f}" if m <= n else f"{'-':>10}" for m in MOMENTS))


if __name__ == "__main__":
    main()

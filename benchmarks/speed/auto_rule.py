"""Where ``backend="auto"`` changes over from HiGHS on the whole to sifting.

Run ``python benchmarks/choice.py``: Gaussian points, of which a fifth are the class; the time of ``highs`` over that of
``sifting`` for every number of points and moments, medians of interleaved rounds. Above 1 sifting is faster.
"""

from __future__ import annotations

import argparse
import statistics

import momentlp as mlp
from benchmarks.common.problems import gaussians
from benchmarks.common.timing import interleaved

POINTS = (250, 500, 1000, 1500, 2000, 4000)
MOMENTS = (2, 8, 32, 128, 512)


def ratio(n: int, m: int, rounds: int) -> float:
    """Return the median over rounds of the time of HiGHS over that of sifting."""
    problem = gaussians(n, m).compile()
    ways = {name: (lambda name=name: mlp.solve(problem, name)) for name in ("highs", "sifting")}
    seconds = interleaved(ways, rounds)
    return statistics.median(one / other for one, other in zip(seconds["highs"], seconds["sifting"], strict=True))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    print("time of highs / time of sifting")
    print(f"{'points':>8}" + "".join(f"{f'm = {m}':>10}" for m in MOMENTS))
    for n in POINTS:
        print(f"{n:>8}" + "".join(f"{ratio(n, m, rounds):>10.2f}" if m <= n else f"{'-':>10}" for m in MOMENTS))


if __name__ == "__main__":
    main()

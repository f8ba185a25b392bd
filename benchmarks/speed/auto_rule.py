"""Measure where ``backend="auto"`` should change from ``highs`` to ``sifting``.

Run ``python -m benchmarks.speed.auto_rule``. Each table shows the time of ``highs`` over that of ``sifting`` for every
number of points and features, as medians of interleaved rounds. Above 1 sifting is faster. A star marks what ``auto``
chooses sifting for. There are Gaussian points, a fifth of them in the class, and documents of twenty words each, a fifth of
them on one topic.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

import momentlp as mlp
from benchmarks.common.timing import GaveUpError, median_ratio, time_interleaved
from momentlp.backend.auto import choose_backend

POINTS = (250, 500, 1000, 2000, 4000)
FEATURES = (2, 8, 32, 128, 512, 2000)
MAX_SECONDS = 30.0  # for one solve
SHARE, SHIFT, WORDS = 0.2, 0.3, 20


def gaussian(n: int, m: int) -> np.ndarray:
    """Return n points in m dimensions, those of the class first."""
    random = np.random.default_rng(0)
    X = random.normal(size=(n, m))
    X[: int(SHARE * n)] += SHIFT * random.normal(size=m)
    return X


def words(n: int, m: int, n_words: int = WORDS) -> sp.csr_array:
    """Return n documents of some words out of m, those on the topic first."""
    random = np.random.default_rng(0)
    frequency = 1 / (np.arange(m) + 10.0)
    topic = frequency * np.exp(random.normal(size=m))
    drawn = [
        np.unique(random.choice(m, n_words, p=(words := topic if row < SHARE * n else frequency) / words.sum()))
        for row in range(n)
    ]
    rows = np.repeat(np.arange(n), [row.size for row in drawn])
    return sp.csr_array((np.ones(rows.size), (rows, np.concatenate(drawn))), shape=(n, m))


TABLES: dict[str, tuple[Callable[[int, int], object], Callable[[int], mlp.Tolerance]]] = {
    "Gaussian points, a tolerance on the sum": (gaussian, lambda n: mlp.Absolute(0.02 * SHARE * n)),
    "Gaussian points, a tolerance on the mean": (gaussian, lambda _: mlp.StandardError(1.0)),
    "documents, a tolerance on the mean": (words, lambda _: mlp.StandardError(1.0)),
}


def compare_speed(problem: mlp.Problem, rounds: int) -> float:
    """Return the median over rounds of the time of HiGHS over that of sifting."""

    def run(name: str) -> Callable[[], None]:
        def solve() -> None:
            if mlp.solve(problem, name, time_limit=MAX_SECONDS).status is mlp.Status.LIMIT:
                raise GaveUpError

        return solve

    seconds = time_interleaved({name: run(name) for name in ("highs", "sifting")}, rounds, budget=MAX_SECONDS / 3)
    if not seconds["highs"] and seconds["sifting"]:
        return float("inf")  # HiGHS did not end
    return median_ratio(seconds["highs"], seconds["sifting"])


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    for title, (make_points, tolerance) in TABLES.items():
        print(f"{title}: time of highs / time of sifting")
        print(f"{'points':>8}" + "".join(f"{f'k = {m}':>11}" for m in FEATURES))
        for n in POINTS:
            line = f"{n:>8}"
            for m in FEATURES:
                if make_points is words and m < WORDS:
                    line += f"{'-':>11}"
                    continue
                problem = mlp.Spec(tolerance=tolerance(n)).compile(make_points(n, m), labelled=np.arange(int(SHARE * n / 2)))
                star = "*" if choose_backend(problem) == "sifting" else " "
                line += f"{compare_speed(problem, rounds):>10.2f}{star}"
            print(line, flush=True)
        print()


if __name__ == "__main__":
    main()

"""Measure problems with many moments, and shapes that are hard for other reasons.

Run ``python -m benchmarks.speed.many_moments`` (``--only a,b`` for some cases, ``--highs SECONDS`` to run every method of
HiGHS on the documents, for at most that long). It writes ``docs/results/benchmarks/many_moments.md`` and ``.csv``.

Times are ratios within one run. A *gram* is numpy's ``A.T @ A`` in double precision of the dense features, with the same
threads; a *pass* is their product ``A @ v`` with one vector, on all cores. Nothing that a solve learned about the features
is kept for the next one. Each case runs in a process of its own, so that its peak of memory is its own. Nothing is asserted:
the table says what was measured.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import momentlp as mlp
from benchmarks.common.folders import RESULTS, ROOT
from benchmarks.common.report import (
    Row,
    format_bytes,
    format_markdown,
    format_number,
    format_seconds,
    print_table,
    write_page,
)
from benchmarks.common.usps_digits import split_usps_digits
from benchmarks.speed.auto_rule import words
from momentlp.errors import DataError, OptionError
from momentlp.runtime.peak_memory import peak_memory

SHARE, SHIFT = 0.2, 0.15  # of the class; standard deviations between the class and the others
MAX_SECONDS = 900.0
METHODS = {
    "dual simplex": {"solver": "simplex"},
    "interior point": {"solver": "ipm"},
    "HiPO": {"solver": "hipo"},
}


def gaussian(n: int, m: int, tolerance: Callable[[int], mlp.Tolerance]) -> mlp.Problem:
    """Return n points in m dimensions; half of the class is labelled."""
    random = np.random.default_rng(0)
    X, k = random.normal(size=(n, m)), int(SHARE * n)
    X[:k] += SHIFT * random.normal(size=m)
    return mlp.Spec(tolerance=tolerance(k)).compile(X, labelled=np.arange(k // 2))


def products(n: int, d: int) -> mlp.Problem:
    """Return n points with all products of d columns; the class has another mean and a larger spread."""
    random = np.random.default_rng(1)
    X, k = random.normal(size=(n, d)), int(SHARE * n)
    X[:k] = 1.1 * X[:k] + 0.2
    return mlp.Spec(features=mlp.Quadratic(), tolerance=mlp.StandardError(1.0)).compile(X, labelled=np.arange(k // 2))


def documents(n: int, d: int, n_words: int) -> mlp.Problem:
    """Return n documents of some words out of d."""
    X = words(n, d, n_words) / np.sqrt(n_words)
    return mlp.Spec(tolerance=mlp.StandardError(1.0)).compile(X, labelled=np.arange(int(SHARE * n / 2)))


def one_hot(n: int) -> mlp.Problem:
    """Return eight categorical columns with 74 values together, as columns of 0 and 1; 500 labelled."""
    random, k, parts = np.random.default_rng(0), int(SHARE * n), []
    for size in (2, 3, 4, 5, 8, 12, 16, 24):
        others = random.dirichlet(np.full(size, 2.0))
        members = (others + random.dirichlet(np.full(size, 2.0))) / 2
        values = np.concatenate([random.choice(size, k, p=members), random.choice(size, n - k, p=others)])
        parts.append(np.eye(size)[values])
    return mlp.Spec(tolerance=mlp.StandardError(1.0)).compile(np.hstack(parts), labelled=np.arange(500))


def lognormal(n: int, m: int) -> mlp.Problem:
    """Return columns with heavy tails; 500 labelled."""
    Z = np.random.default_rng(0).normal(size=(n, m))
    Z[: int(SHARE * n)] += 0.4
    return mlp.Spec(tolerance=mlp.StandardError(1.0)).compile(np.exp(1.5 * Z), labelled=np.arange(500))


def share_and_known(n: int, m: int) -> mlp.Problem:
    """Return points with a share that is reached, 500 known members and 500 known others."""
    X = np.random.default_rng(0).normal(size=(n, m))
    X[: int(SHARE * n)] += 0.4
    known = mlp.Known(positives=np.arange(500), negatives=np.arange(n - 500, n))
    spec = mlp.Spec(tolerance=mlp.StandardError(1.0), constraints=[mlp.Share(0.05, 0.15), known])
    return spec.compile(X, labelled=np.arange(500))


def many_points(n: int, m: int, dtype: type) -> mlp.Problem:
    """Return n points in m dimensions; 1,000 labelled."""
    X = np.random.default_rng(0).normal(size=(n, m))
    X[: int(SHARE * n)] += 0.5
    return mlp.Spec(tolerance=mlp.StandardError(1.0)).compile(X.astype(dtype), labelled=np.arange(1000))


def usps(features: mlp.FeatureMap, eps: float) -> mlp.Problem:
    """Return the paper's problem: 6198 unlabelled digits and the mean of 300 zeros, with other features than pixels."""
    X, sample = split_usps_digits()
    return mlp.Spec(features=features, tolerance=mlp.Absolute(eps)).compile(X, sample=sample)


CASES: dict[str, tuple[str, Callable[[], mlp.Problem]]] = {
    "a": ("20,000 x 600, Absolute", lambda: gaussian(20_000, 600, lambda k: mlp.Absolute(0.02 * k))),
    "b": ("20,000 x 600, StandardError(1)", lambda: gaussian(20_000, 600, lambda _: mlp.StandardError(1.0))),
    "c": ("50,000 x 1,000, Absolute", lambda: gaussian(50_000, 1000, lambda k: mlp.Absolute(0.02 * k))),
    "d": ("50,000 x 1,000, StandardError(1)", lambda: gaussian(50_000, 1000, lambda _: mlp.StandardError(1.0))),
    "e": ("Quadratic, 50 columns, 50,000 points, StandardError(1)", lambda: products(50_000, 50)),
    "f": ("sparse, 20,000 x 5,000, 60 words, StandardError(1)", lambda: documents(20_000, 5000, 60)),
    "g": ("one-hot, 100,000 x 74, StandardError(1)", lambda: one_hot(100_000)),
    "h": ("lognormal, 100,000 x 40, StandardError(1)", lambda: lognormal(100_000, 40)),
    "i": ("Share with Known, 200,000 x 32, StandardError(1)", lambda: share_and_known(200_000, 32)),
    "j": ("USPS, the kernel of every point, eps 5", lambda: usps(mlp.Kernel(), 5.0)),
    "k": ("USPS, all products of pixels, eps 30", lambda: usps(mlp.Quadratic(), 30.0)),
    "l": ("1,000,000 x 32, StandardError(1)", lambda: many_points(1_000_000, 32, np.float64)),
    "m": ("1,000,000 x 32 in single precision, StandardError(1)", lambda: many_points(1_000_000, 32, np.float32)),
}


def measure(name: str, rounds: int, highs: float) -> dict[str, Any]:
    """Solve one case, and return what is known of it."""
    problem = CASES[name][1]()
    features = problem.blocks[0].features
    is_sparse, grams, passes, seconds = sp.issparse(features), [], [], []
    size = features.data.nbytes + features.indices.nbytes + features.indptr.nbytes if is_sparse else features.nbytes
    for _ in range(rounds):
        if not is_sparse and features.shape[1] <= 10_000:
            double = features.astype(np.float64, copy=False)
            grams.append(_time(lambda: double.T @ double))  # noqa: B023  called at once
            vector = np.ones(features.shape[1])
            passes.append(statistics.median(_time(lambda: double @ vector) for _ in range(5)))  # noqa: B023
            del double
            time.sleep(0.2)  # the threads of BLAS wait for more work in a busy loop
        started = time.perf_counter()
        solution = mlp.solve(_forget(problem), "sifting", time_limit=MAX_SECONDS)
        seconds.append(time.perf_counter() - started)
    with peak_memory() as peak:  # a run of its own: memory is given back to the system before it, which takes time
        solution = mlp.solve(_forget(problem), "sifting", time_limit=MAX_SECONDS)
    per_gram = [took / gram for took, gram in zip(seconds, grams, strict=False)]
    per_pass = [took / single for took, single in zip(seconds, passes, strict=False)]
    others = {}
    if highs and is_sparse:
        for method, options in METHODS.items():
            started = time.perf_counter()
            try:
                answer = mlp.solve(problem, "highs", time_limit=highs, options=options)
            except OptionError:
                others[method] = ("not installed", 0.0)
                continue
            others[method] = (answer.status.name, time.perf_counter() - started)
    return {
        "case": name,
        "points": problem.n_points,
        "moments": problem.n_moments,
        "status": solution.status.name,
        "objective": solution.objective,
        "certified": solution.certificate.holds(),
        "seconds": statistics.median(seconds),
        "grams": statistics.median(per_gram) if per_gram else float("nan"),
        "passes": statistics.median(per_pass) if per_pass else float("nan"),
        "features": size,
        "peak": float("nan") if peak.bytes is None else size + peak.bytes,
        "message": solution.message,
        "highs": others,
    }


def _forget(problem: mlp.Problem) -> mlp.Problem:
    """Return the same problem without what it has learned about its features."""
    return replace(problem, blocks=tuple(replace(block) for block in problem.blocks))


def _time(work: Callable[[], Any]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def main() -> int:
    """Run every case in a process of its own; print and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", type=lambda text: text.split(","), default=list(CASES), help="cases, such as a,f")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--highs", type=float, default=0.0, help="seconds for each method of HiGHS on the documents")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--case", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.case:
        try:
            print(json.dumps(measure(options.case, options.rounds, options.highs)))
        except DataError as error:
            print(json.dumps({"missing": str(error)}))
        return 0
    records = []
    for name in options.only:
        command = [sys.executable, "-W", "ignore", "-m", "benchmarks.speed.many_moments", "--case", name]
        rounds = 1 if name in "jk" else options.rounds
        command += ["--rounds", str(rounds), "--highs", str(options.highs)]
        record = json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout)
        if "missing" in record:
            print(f"{name} is left out: {record['missing']}")
            continue
        records.append(record)
        print(f"{name}: {record['status']}, {format_seconds(record['seconds'])}, {record['message']}", flush=True)
        for method, (status, took) in record["highs"].items():
            print(f"   HiGHS, {method}: {status}, {format_seconds(took)}", flush=True)
    if not records:
        return 1
    rows = [_row(record) for record in records]
    print_table(rows)
    write_page(options.out, "many_moments", "Many moments, and other hard shapes", [("", format_markdown(rows))], records)
    return 0


def _row(record: dict[str, Any]) -> Row:
    highs = "; ".join(f"{method} {status}, {format_seconds(took)}" for method, (status, took) in record["highs"].items())
    return {
        "": record["case"],
        "problem": CASES[record["case"]][0],
        "moments": f"{record['moments']:,}",
        "status": record["status"] + (", certified" if record["certified"] else ""),
        "time": format_seconds(record["seconds"]),
        "grams": format_number(record["grams"]),
        "passes": format_number(record["passes"]),
        "features": format_bytes(record["features"]),
        "features and peak of the solve": format_bytes(record["peak"]),
        "HiGHS on the whole": highs or "-",
    }


if __name__ == "__main__":
    sys.exit(main())

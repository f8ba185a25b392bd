"""Valid files of every kind that momentlp reads: the seeds that are then changed."""

from __future__ import annotations

import io
import json
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import scipy.sparse as sp
import yaml

import momentlp as mlp

TREES = [
    {"version": 1, "features": {"kind": "linear", "standardise": True}, "tolerance": {"kind": "absolute", "eps": 1.0}},
    {
        "features": {"kind": "quadratic"},
        "tolerance": {"kind": "relative", "delta": [0.1, 0.2, 0, 1, 1], "standardised": True},
    },
    {
        "features": {"kind": "concat", "maps": [{"kind": "kernel", "kernel": "poly", "landmarks": 3}, {"kind": "linear"}]},
        "tolerance": {"kind": "standard_error", "z": 2},
        "constraints": [{"kind": "share", "low": 0.1, "high": 0.9}, {"kind": "known", "positives": [0], "negatives": [3]}],
    },
    {
        "features": {"kind": "spectral", "n_components": 2, "n_neighbors": 3},
        "constraints": [
            {"kind": "group_share", "groups": [0, 1] * 6, "low": {"0": 0.1}, "high": {"1": 0.5}},
            {
                "kind": "moment",
                "features": {"kind": "linear"},
                "target": [0.5, 0.5],
                "tolerance": {"kind": "absolute", "eps": 0.5},
                "name": "m",
            },
        ],
    },
    {"features": {"kind": "transformer", "transformer": {"name": "PCA", "parameters": {"n_components": 1}}}},
    {"features": {"kind": "transformer", "transformer": {"steps": [{"name": "StandardScaler"}]}}},
]
"""Specs with every kind and every field of it."""

MPS_OF_OTHERS = """\
* a comment
NAME          example
OBJSENSE
    MAX

ROWS
 N  gain
 L  at_most
 G  at_least
 E  equal
 N  unused
COLUMNS
    x  gain  2  at_most  1.5
    x  equal  1
    MARK0  'MARKER'  'INTORG'
    y  gain  3  at_least  -1
    MARK1  'MARKER'  'INTEND'
    z  gain  .5D+01  unused  7  $ the rest is a comment
RHS
    RHS  at_most  4  at_least  -2
    RHS  equal  1
RANGES
    RNG  at_most  1
BOUNDS
 UP BND  x  2
 UP BND  y  3.7
 UP BND  z  1
ENDATA
"""
MPS_IN_FIXED_FORMAT = """\
NAME          example
ROWS
 N  my cost
 L  row one
 E  row two
COLUMNS
    col a     my cost            -1.   row one             2.
    col a     row two             1.
    MARKER                 'MARKER'                 'INTORG'
    col b     my cost            -3.   row two             1.
    MARKER                 'MARKER'                 'INTEND'
RHS
    RHS       row one             4.   row two             1.
RANGES
              row one             1.
BOUNDS
 UP BND       col a               2.
 BV BND       col b
ENDATA
"""


def points(n: int = 12, d: int = 2) -> np.ndarray:
    """A few points, always the same."""
    return np.random.default_rng(0).normal(size=(n, d))


def problems() -> list[mlp.Problem]:
    """Problems of every layout that a file can have: dense, sparse, single, with a transform, with each kind of state."""
    X, sparse = points(), sp.csr_array(np.where(points() > 0, points(), 0.0))
    known = range(4)
    maps = [mlp.Linear(standardise=True), mlp.Quadratic(), mlp.Kernel(landmarks=3), mlp.Kernel("linear"), mlp.Spectral(2, 3)]
    made = [mlp.Spec(features=kind, tolerance=mlp.Absolute(1.0)).compile(X, labelled=known) for kind in maps]
    made += [
        mlp.Spec(tolerance=mlp.Relative(0.2)).compile(sparse, labelled=known),
        mlp.Spec(features=mlp.Kernel("linear")).compile(sparse, labelled=known),
        mlp.Spec(tolerance=mlp.Absolute(1.0), constraints=[mlp.Share(0.1, 0.9)]).compile(
            X.astype(np.float32), labelled=known
        ),
        mlp.Problem.from_arrays(np.asfortranarray(X), -np.inf, 1.0),
    ]
    return made


def save_to_bytes(problem: mlp.Problem) -> bytes:
    """Return the bytes that saving a problem writes."""
    with tempfile.TemporaryDirectory() as folder:
        problem.save(Path(folder) / "problem.npz")
        return (Path(folder) / "problem.npz").read_bytes()


def _write_to_bytes(write: Callable[[io.BytesIO], object]) -> bytes:
    stream = io.BytesIO()
    write(stream)
    return stream.getvalue()


@cache
def spec_json() -> list[bytes]:
    return [json.dumps(tree).encode() for tree in TREES]


@cache
def spec_yaml() -> list[bytes]:
    anchored = (
        b"tolerance: &t {kind: absolute, eps: 9}\nconstraints: [{kind: moment, features: {kind: linear}, target: 1.0, "
    )
    anchored += b"tolerance: {kind: absolute, eps: 1}}]\n"
    return [yaml.safe_dump(tree).encode() for tree in TREES] + [anchored]


@cache
def problem_file() -> list[bytes]:
    return [save_to_bytes(problem) for problem in problems()]


@cache
def problem_mps() -> list[bytes]:
    whole = mlp.Problem(problems()[0].blocks, np.ones(12), np.arange(12.0), whole=np.arange(12) % 3 > 0)
    with tempfile.TemporaryDirectory() as folder:
        path, written = Path(folder) / "problem.mps", []
        for problem in (*problems(), whole):
            problem.to_mps(path)
            written.append(path.read_bytes())
    return [*written, MPS_OF_OTHERS.encode(), MPS_IN_FIXED_FORMAT.encode()]


@cache
def data_csv() -> list[bytes]:
    table = pd.DataFrame(points(), columns=["a", "b"]).assign(known=[1, 0] * 6)
    return [table.to_csv(index=False).encode(), b"0.5,1\n2,3\n", b'a,"b ""c"""\r\n1,yes\r\n"2",no\r\n', b"1\n2\n3\n"]


@cache
def data_npy() -> list[bytes]:
    arrays = [points(), np.asfortranarray(points()), points().astype(np.float32), np.arange(5), points() > 0, np.array(1.0)]
    return [_write_to_bytes(lambda stream, array=array: np.save(stream, array)) for array in arrays]


@cache
def data_npz() -> list[bytes]:
    layouts = ("csr", "csc", "coo", "dia", "bsr")
    sparse = [sp.random_array((6, 4), density=0.5, format=layout, rng=np.random.default_rng(0)) for layout in layouts]
    return [
        *(_write_to_bytes(lambda stream, matrix=matrix: sp.save_npz(stream, matrix)) for matrix in sparse),
        _write_to_bytes(lambda stream: np.savez(stream, points())),
        _write_to_bytes(lambda stream: np.savez_compressed(stream, points())),
    ]


@cache
def data_parquet() -> list[bytes]:
    table = pd.DataFrame(points(), columns=["a", "b"])
    tables = [table, table.assign(known=[True, False] * 6, text="x"), table.assign(when=pd.Timestamp("2020-01-01"), n=1)]
    return [_write_to_bytes(lambda stream, table=table: table.to_parquet(stream)) for table in tables]

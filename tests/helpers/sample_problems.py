"""Problems of every kind: dense and sparse points, both kinds of tolerance, weights, caps, several blocks."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import scipy.sparse as sp

import momentlp as mlp


def frame() -> pd.DataFrame:
    return pd.DataFrame(np.random.default_rng(0).normal(size=(30, 3)), columns=["a", "b b", "c"])


def sparse_points() -> sp.csr_array:
    return sp.random_array((40, 6), density=0.2, rng=np.random.default_rng(1), format="csr")


PROBLEMS: dict[str, Callable[[], mlp.Problem]] = {
    "absolute": lambda: mlp.Spec(tolerance=mlp.Absolute(2.0)).compile(frame(), labelled=range(5)),
    "relative": lambda: mlp.Spec(tolerance=mlp.Relative([0.3, 0.0, 0.2])).compile(frame(), labelled=range(8)),
    "float32": lambda: mlp.Spec(tolerance=mlp.Absolute(1.0)).compile(frame().to_numpy(np.float32), labelled=range(8)),
    "sparse": lambda: mlp.Spec(tolerance=mlp.Absolute(0.3)).compile(sparse_points(), labelled=range(8)),
    "sparse relative": lambda: mlp.Spec(tolerance=mlp.Relative(0.05)).compile(sparse_points(), labelled=range(8)),
    "arrays": lambda: mlp.Problem.from_arrays(
        frame(), [-1, -np.inf, 0], [1, 2, np.inf], weights=np.arange(1, 31), caps=np.linspace(0, 2, 30)
    ),
    "two blocks": lambda: (
        mlp.Spec(tolerance=mlp.Absolute(1.0))
        .compile(sparse_points(), labelled=range(8))
        .with_block(mlp.Problem.from_arrays(np.arange(40.0)[:, None], -np.inf, 300.0, names=["rank"]).blocks[0])
    ),
}

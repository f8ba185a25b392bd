"""Compare two problems."""

from __future__ import annotations

import numpy as np

import momentlp as mlp
from momentlp.points.arrays import is_sparse


def same_problem(one: mlp.Problem, two: mlp.Problem) -> bool:
    vectors = ("weights", "caps", "lower", "upper")
    if one.names != two.names or not all(np.array_equal(getattr(one, v), getattr(two, v)) for v in vectors):
        return False
    for old, new in zip(one.blocks, two.blocks, strict=True):
        if old.features.dtype != new.features.dtype or is_sparse(old.features) != is_sparse(new.features):
            return False
        difference = old.features - new.features
        if (difference.nnz if is_sparse(difference) else np.abs(difference).max()) != 0:
            return False
        if (old.fitted is None) != (new.fitted is None):
            return False
        if (
            old.fitted
            and new.fitted
            and (old.fitted.declared, old.fitted.inputs) != (new.fitted.declared, new.fitted.inputs)
        ):
            return False
    return np.array_equal(one.A.toarray(), two.A.toarray())

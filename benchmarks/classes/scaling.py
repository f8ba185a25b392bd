"""Scalings that peers use: standardised columns, normal quantiles of columns, and rows of unit length for sparse points."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import ndtri
from scipy.stats import rankdata
from sklearn.preprocessing import StandardScaler, normalize

__all__ = ["quantiles", "standard"]


def standard(X: Any) -> Any:
    """Return standardised columns; for sparse counts or TF-IDF, log(1 + x) with rows of unit length."""
    if sp.issparse(X):
        logarithms = X.copy()
        logarithms.data = np.log1p(logarithms.data)
        return sp.csr_array(normalize(logarithms))
    return StandardScaler().fit_transform(X)


def quantiles(X: Any) -> Any:
    """Return the normal quantiles of the columns, standardised; sparse points as in :func:`standard`."""
    return standard(X) if sp.issparse(X) else StandardScaler().fit_transform(ndtri(rankdata(X, axis=0) / (len(X) + 1)))

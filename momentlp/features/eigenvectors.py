"""The smoothest functions on a graph: eigenvectors of the normalised weights with the largest eigenvalues.

With W the weights and D the degrees, they are v / sqrt(D) for the eigenvectors v of ``D^-1/2 W D^-1/2``. There are two ways.
Shift and invert factorises a sparse matrix; on graphs of many points in many dimensions the factors fill up, and that
takes long. The Lanczos method multiplies by the matrix only; it is much faster there, but converges slowly on graphs
of many nearly separate parts, where shift and invert is fast. So large graphs try Lanczos first, for a limited number of
steps.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from momentlp.features.graph import Graph
from momentlp.points.arrays import FloatArray

__all__ = ["find_eigenvectors"]

MIN_POINTS = 5000  # for the Lanczos method; smaller graphs are factorised in a second
VECTORS_PER_COMPONENT = 5  # Lanczos vectors that are kept for each eigenvector
MAX_RESTARTS = 60
PRECISION = 1e-7  # of an entry, relative to the largest one of its eigenvector


def find_eigenvectors(graph: Graph, n_components: int) -> FloatArray:
    """Return the smoothest functions on a graph, without the constant one.

    Parameters
    ----------
    graph : Graph
        Connected.
    n_components : int

    Returns
    -------
    array, shape (N, n_components)
        Sorted by eigenvalue, the smoothest first. In each the entry of largest absolute value is positive.
    """
    if graph.n_points >= MIN_POINTS:
        found = _lanczos(graph, n_components)
        if found is not None:
            return _round(found)
    from sklearn.manifold import spectral_embedding

    vectors = spectral_embedding(
        graph.weights, n_components=n_components, eigen_solver="arpack", random_state=0, drop_first=True
    )
    return _round(np.asarray(vectors))


def _round(vectors: FloatArray) -> FloatArray:
    """Round off the digits that an eigenvector is not known to: differences between them would be taken for a spread."""
    unit = PRECISION * np.abs(vectors).max(axis=0)
    unit[unit == 0] = 1.0
    return np.asarray(np.round(vectors / unit) * unit)


def _lanczos(graph: Graph, n_components: int) -> FloatArray | None:
    """Return the eigenvectors by the Lanczos method; None if it does not converge soon."""
    from scipy.sparse.linalg import ArpackError, eigsh

    half = sp.diags_array(1 / np.sqrt(graph.degree))
    normalised = sp.csr_array(half @ graph.weights @ half)
    start = np.random.default_rng(0).uniform(-1, 1, graph.n_points)
    n_vectors = min(graph.n_points - 1, VECTORS_PER_COMPONENT * (n_components + 1))
    try:
        values, vectors = eigsh(normalised, k=n_components + 1, which="LA", ncv=n_vectors, maxiter=MAX_RESTARTS, v0=start)
    except ArpackError:  # among them ArpackNoConvergence
        return None
    order = np.argsort(-values)[1:]
    smooth = vectors[:, order] / np.sqrt(graph.degree)[:, None]
    largest = smooth[np.argmax(np.abs(smooth), axis=0), np.arange(n_components)]
    return np.asarray(smooth * np.sign(largest))

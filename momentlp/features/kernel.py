"""Kernel columns: a class that a hyperplane in the feature space of a kernel separates."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from momentlp.errors import CompileError
from momentlp.features.base import FeatureMap, FittedMap
from momentlp.features.state import Shapes, StateArray, pack_matrix, unpack_matrix
from momentlp.points.arrays import Matrix

__all__ = ["Kernel", "median_gamma"]

MEDIAN_SAMPLE = 1000  # points whose distances give the median: all pairs of more would take too much memory
NEGLIGIBLE = 1e-100  # of a kernel that is 1 at distance 0: smaller values have few digits, and overflow in other units


class Kernel(FeatureMap):
    """The kernel between each point and every point, as in the paper, or between each point and a few landmarks.

    If all points are columns and the kernel has full rank, only the labelled set has the mean of the labelled set. A
    tolerance above zero is then needed to find more points. With landmarks (a Nystroem map of that rank) the problem is far
    smaller, and a tolerance is not needed.

    Parameters
    ----------
    kernel : {"rbf", "laplacian", "poly", "sigmoid", "linear", "cosine"}
        The kernel, as in scikit-learn.
    gamma : float, optional
        Default: one over the median squared distance between points for rbf, one over the median distance for laplacian,
        one over the number of columns otherwise.
    degree, coef0 : float
        Parameters of poly (both) and sigmoid (``coef0``).
    landmarks : int, optional
        Number of landmarks; default: all points.
    random_state : int
        Seed of the choice of landmarks.

    Raises
    ------
    CompileError
        When fitted, if there are fewer points than landmarks, or the kernel is not finite on the points.

    Examples
    --------
    >>> import numpy as np
    >>> fitted = Kernel("linear").fit(np.array([[1.0], [2.0]]))
    >>> fitted.names
    ('k(x, 0)', 'k(x, 1)')
    >>> fitted([[3.0]])
    array([[3., 6.]])
    """

    kind: Literal["kernel"] = "kernel"
    kernel: Literal["rbf", "laplacian", "poly", "sigmoid", "linear", "cosine"] = "rbf"
    gamma: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    degree: Annotated[float, Field(allow_inf_nan=False)] = 3.0
    coef0: Annotated[float, Field(allow_inf_nan=False)] = 1.0
    landmarks: Annotated[int, Field(ge=1)] | None = None
    random_state: Annotated[int, Field(ge=0)] = 0

    if TYPE_CHECKING:

        def __init__(
            self,
            kernel: str = "rbf",
            gamma: float | None = None,
            degree: float = 3.0,
            coef0: float = 1.0,
            landmarks: int | None = None,
            random_state: int = 0,
        ) -> None: ...

    def learn(self, X: Matrix, inputs: tuple[str, ...]) -> tuple[tuple[str, ...], dict[str, NDArray[Any]]]:
        """Keep the points that are columns, gamma, and for landmarks the matrix that whitens them."""
        state: dict[str, NDArray[Any]] = {}
        if self.kernel in ("rbf", "laplacian", "poly", "sigmoid"):
            state["gamma"] = np.array(
                self.gamma if self.gamma is not None else median_gamma(X, self.kernel, self.random_state)
            )
        if self.landmarks is None:
            centres, names = X, tuple(f"k(x, {point})" for point in range(X.shape[0]))
        else:
            if self.landmarks > X.shape[0]:
                raise CompileError(
                    f"Kernel.landmarks is {self.landmarks}, but there are only {X.shape[0]} points: lower it."
                )
            try:
                nystroem = self._nystroem(state).fit(X)
            except (np.linalg.LinAlgError, ValueError) as error:
                raise CompileError(f"Kernel({self.kernel!r}) is not finite on these points: {error}.") from None
            centres, state["whiten"] = nystroem.components_, nystroem.normalization_
            names = tuple(f"landmark {number}" for number in range(self.landmarks))
        state |= pack_matrix(centres, "centres")
        return names, state

    def needs_all_points(self) -> str | None:
        """Return None if there are landmarks: without them every point is a column."""
        return "Kernel(landmarks=...)" if self.landmarks is None else None

    def state_layout(self, shapes: Shapes, d: int, k: int) -> Mapping[str, StateArray]:
        """Return the layout of the centres, and of gamma and the whitening matrix if the file has them."""
        n = shapes.get("centres", (0,))[0]
        layout = {"centres": StateArray((n, d), finite=True)}
        optional = {"gamma": StateArray((), below=math.inf), "whiten": StateArray((k, n))}
        return layout | {name: array for name, array in optional.items() if name in shapes}

    def transform(self, X: Matrix, fitted: FittedMap) -> Matrix:
        """Return the kernel between the points and the centres, whitened if they are landmarks."""
        from sklearn.metrics.pairwise import pairwise_kernels

        state = fitted.state
        centres = unpack_matrix(state, "centres")
        columns = np.asarray(pairwise_kernels(X, centres, metric=self.kernel, **self._parameters(state)))
        if self.kernel in ("rbf", "laplacian"):
            columns[columns < NEGLIGIBLE] = 0.0
        return columns @ state["whiten"].T if "whiten" in state else columns

    def _parameters(self, state: Any) -> dict[str, Any]:
        values = {"gamma": float(state["gamma"]) if "gamma" in state else None, "degree": self.degree, "coef0": self.coef0}
        needed = {
            "rbf": ("gamma",),
            "laplacian": ("gamma",),
            "poly": ("gamma", "degree", "coef0"),
            "sigmoid": ("gamma", "coef0"),
        }
        return {name: values[name] for name in needed.get(self.kernel, ())}

    def _nystroem(self, state: Any) -> Any:
        from sklearn.kernel_approximation import Nystroem

        return Nystroem(
            kernel=self.kernel,
            n_components=self.landmarks,
            random_state=self.random_state,
            kernel_params=self._parameters(state) or None,
        )


def median_gamma(X: Matrix, kernel: str, random_state: int) -> float:
    """Return gamma by the median rule, from at most :data:`MEDIAN_SAMPLE` points."""
    if kernel not in ("rbf", "laplacian"):
        return 1.0 / float(X.shape[1])
    from sklearn.metrics import pairwise_distances

    n = X.shape[0]
    sample = X if n <= MEDIAN_SAMPLE else X[np.random.default_rng(random_state).choice(n, MEDIAN_SAMPLE, replace=False)]
    distances = pairwise_distances(sample, metric="euclidean" if kernel == "rbf" else "manhattan")
    positive = distances[np.triu_indices_from(distances, 1)]
    positive = positive[positive > 0]
    median = np.median(positive) if positive.size else 1.0
    return float(1.0 / median**2 if kernel == "rbf" else 1.0 / median)

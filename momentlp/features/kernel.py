"""Kernel columns: a class cut off by a plane in the space of a kernel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from momentlp.errors import CompileError
from momentlp.features.base import FeatureMap, FittedMap, pack_matrix, unpack_matrix
from momentlp.points.arrays import Matrix

__all__ = ["Kernel", "median_gamma"]

MEDIAN_SAMPLE = 1000


class Kernel(FeatureMap):
    """The kernel between each point and every point, as in the paper, or a few landmarks.

    With all points as columns and a kernel of full rank, the labelled set alone has its mean: the tolerance makes it a
    method. Landmarks (a Nystroem map of that rank) make it one by themselves, and far smaller.

    Parameters
    ----------
    kernel : {"rbf", "laplacian", "poly", "sigmoid", "linear", "cosine"}
        As in scikit-learn.
    gamma : float, optional
        Default: one over the median squared distance between points for rbf, one over the median distance for laplacian,
        one over the number of columns otherwise.
    degree, coef0 : float
        For poly and sigmoid.
    landmarks : int, optional
        Number of landmarks; default: all points.
    random_state : int
        Which points become landmarks.
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
        """Remember the points that are columns, gamma, and for landmarks the map that whitens them."""
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
        """Without landmarks every point is a column."""
        return "Kernel(landmarks=...)" if self.landmarks is None else None

    def state_shapes(self, shapes: Mapping[str, tuple[int, ...]], d: int, k: int) -> Mapping[str, tuple[int, ...]]:
        """Return the shapes of the centres, and of the width and the whitening where there are any."""
        n = shapes.get("centres", (0,))[0]
        some = {"gamma": (), "whiten": (k, n)}
        return {"centres": (n, d), **{name: shape for name, shape in some.items() if name in shapes}}

    def transform(self, X: Matrix, fitted: FittedMap) -> Matrix:
        """Return the kernel between the points and the columns."""
        from sklearn.metrics.pairwise import pairwise_kernels

        state = fitted.state
        centres = unpack_matrix(state, "centres")
        columns = np.asarray(pairwise_kernels(X, centres, metric=self.kernel, **self._parameters(state)))
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
    """Return the width of the kernel by the median rule, from at most a thousand points."""
    if kernel not in ("rbf", "laplacian"):
        return 1.0 / float(X.shape[1])
    from sklearn.metrics import pairwise_distances

    n = X.shape[0]
    chosen = X if n <= MEDIAN_SAMPLE else X[np.random.default_rng(random_state).choice(n, MEDIAN_SAMPLE, replace=False)]
    distances = pairwise_distances(chosen, metric="euclidean" if kernel == "rbf" else "manhattan")
    positive = distances[np.triu_indices_from(distances, 1)]
    positive = positive[positive > 0]
    middle = np.median(positive) if positive.size else 1.0
    return float(1.0 / middle**2 if kernel == "rbf" else 1.0 / middle)

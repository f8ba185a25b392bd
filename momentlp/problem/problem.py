"""The problem: what is to be solved, free of specs and of solvers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from momentlp.errors import DataError
from momentlp.points.arrays import FloatArray, IndexArray, constant_vector, is_constant_vector, one_entry_if_constant
from momentlp.points.chunked import Chunked
from momentlp.points.sources import as_table
from momentlp.points.statistics import summarise
from momentlp.points.validation import as_indices, as_vector
from momentlp.problem.linear_program import LinearProgram, build_linear_program
from momentlp.problem.moment_block import MomentBlock
from momentlp.problem.moment_matrix import MomentMatrix

__all__ = ["Problem"]

STRETCH = 1 << 20  # points that are checked together


@dataclass(frozen=True, eq=False)
class Problem:
    """A linear program over memberships h, one per point.

    ::

        maximise  weights . h    subject to  lower <= A^T h <= upper,   0 <= h <= caps

    Attributes
    ----------
    blocks : tuple of MomentBlock
        The moments, grouped by the features they are made of. Side by side they are A, ``lower``, ``upper``, ``names``.
    weights : array, shape (N,)
        What one unit of membership of each point counts in the objective.
    caps : array, shape (N,)
        The largest membership each point may have. A point with cap 2 counts like two equal points.
    labelled : array of int, or None
        The points whose mean is asked for, where they are part of the problem.
    population : float, optional
        How many points there are in all, by weight; the sum of the caps unless some of them were lowered since.

    Examples
    --------
    >>> problem = Problem.from_arrays([[-1.0], [1.0], [3.0]], lower=0.0, upper=0.0, names=["x"])
    >>> problem
    Problem(3 points, 1 moment: x)
    >>> problem.A.T @ np.array([1.0, 1.0, 0.0])
    array([0.])
    """

    blocks: tuple[MomentBlock, ...]
    weights: FloatArray
    caps: FloatArray
    labelled: IndexArray | None = None
    population: float | None = None

    def __post_init__(self) -> None:
        blocks = tuple(self.blocks)
        if not blocks:
            raise DataError("blocks is empty: a problem needs at least one block of moments.")
        n_points = blocks[0].n_points
        object.__setattr__(self, "blocks", blocks)
        object.__setattr__(self, "weights", as_vector(self.weights, n_points, "weights"))
        object.__setattr__(self, "caps", as_vector(self.caps, n_points, "caps"))
        (caps,) = one_entry_if_constant(self.caps)
        if caps.min(initial=0.0) < 0:
            raise DataError(f"caps must not be negative, but entry {int(np.argmax(caps < 0))} is {caps.min()}.")
        _check_products(self.weights, self.caps)
        if self.labelled is not None:
            object.__setattr__(self, "labelled", as_indices(self.labelled, n_points, "labelled"))
        for block in blocks:
            _check_block(block, n_points)
        names = self.names
        if len(set(names)) < len(names):
            repeated = next(name for name in names if names.count(name) > 1)
            raise DataError(f"two moments are named {repeated!r}: give every moment a name of its own.")

    @classmethod
    def from_arrays(
        cls,
        A: Any,
        lower: Any,
        upper: Any,
        *,
        weights: Any = 1.0,
        caps: Any = 1.0,
        names: Sequence[str] | None = None,
    ) -> Self:
        """Build a problem straight from its matrix.

        Parameters
        ----------
        A : array, frame or sparse matrix, shape (N, m)
            One row per point, one column per moment; the column names of a frame become the moments' names.
        lower, upper : float or array, shape (m,)
            Bounds on A^T h; ``-inf`` and ``inf`` leave a side open.
        weights, caps : float or array, shape (N,)
        names : sequence of str, optional
        """
        block = _plain_block(A, lower, upper, names)
        n_points = block.n_points
        if isinstance(block.features, Chunked):
            weights, caps = _kept_small(weights, n_points, "weights"), _kept_small(caps, n_points, "caps")
        return cls((block,), as_vector(weights, n_points, "weights"), as_vector(caps, n_points, "caps"))

    @property
    def total(self) -> float:
        """The number of points by weight, of which a share is a share."""
        return float(self.caps.sum()) if self.population is None else self.population

    @property
    def n_points(self) -> int:
        """N, the number of points."""
        return self.blocks[0].n_points

    @property
    def n_moments(self) -> int:
        """m, the number of moments."""
        return sum(block.n_moments for block in self.blocks)

    @cached_property
    def A(self) -> MomentMatrix:  # noqa: N802  the name of the paper
        """The moment matrix, N x m, as an operator: ``A @ y``, ``A.T @ h``, ``A.toarray()``."""
        return MomentMatrix(self.blocks)

    @cached_property
    def lower(self) -> FloatArray:
        """L, shape (m,)."""
        return np.concatenate([block.lower for block in self.blocks])

    @cached_property
    def upper(self) -> FloatArray:
        """U, shape (m,)."""
        return np.concatenate([block.upper for block in self.blocks])

    @property
    def names(self) -> tuple[str, ...]:
        """A name for every moment."""
        return tuple(name for block in self.blocks for name in block.names)

    @cached_property
    def scale(self) -> FloatArray:
        """The largest absolute entry of every moment: the unit in which multipliers are weighed and solvers fed."""
        with np.errstate(over="ignore", invalid="ignore"):
            largest = self.A.per_moment("max_abs")
        self.require_finite(largest)
        return largest

    @cached_property
    def noise(self) -> NDArray[np.bool_]:
        """Which moments are rounding and nothing else: those of constant features whose mean was rounded.

        Scaled up like the others, such a moment would be an equation that no set of points can meet. It asks for nothing.
        """
        return self.A.per_moment("noise").astype(bool)

    def require_finite(self, per_moment: FloatArray) -> None:
        """Raise if a moment overflows."""
        if not np.isfinite(per_moment).all():
            name = self.names[int(np.argmax(~np.isfinite(per_moment)))]
            raise DataError(f"moment {name!r} overflows: its values are too far apart. Rescale that feature.")

    @cached_property
    def point_weight(self) -> float:
        """The typical weight of one whole point: the median of ``weights * caps`` where it is not zero."""
        weights, caps = one_entry_if_constant(self.weights, self.caps)
        full = np.abs(weights * caps)
        return float(np.median(full[full > 0])) if (full > 0).any() else 1.0

    @property
    def zero_is_feasible(self) -> bool:
        """Whether the empty set meets every bound, as it does unless some constraint asks for a least size."""
        return bool((self.lower <= 0).all() and (self.upper >= 0).all())

    def scaled(self, factors: FloatArray, *, weight: float = 1.0, cap: float = 1.0) -> Self:
        """Change the units: of every moment by its own factor, of weights by ``1 / weight``, of memberships by ``1 / cap``.

        If (h', y') solves the scaled problem, then ``h = cap h'`` and ``y = weight * factors * y'`` solve this one.
        """
        blocks = []
        for block, part in zip(self.blocks, self.split_by_block(factors), strict=True):
            changed = block.scaled(part)
            blocks.append(replace(changed, lower=changed.lower / cap, upper=changed.upper / cap) if cap != 1 else changed)
        return replace(self, blocks=tuple(blocks), weights=_over(self.weights, weight), caps=_over(self.caps, cap))

    def split_by_block(self, per_moment: FloatArray) -> list[FloatArray]:
        """Cut a vector with one entry per moment into one piece per block.

        Parameters
        ----------
        per_moment : array, shape (m,)

        Returns
        -------
        list of array
            One per block, in order.

        Examples
        --------
        >>> problem = Problem.from_arrays([[1.0]], 0.0, 1.0).with_rows([[1.0, 2.0]], 0.0, 1.0, ["b", "c"])
        >>> problem.split_by_block(np.array([5.0, 6.0, 7.0]))
        [array([5.]), array([6., 7.])]
        """
        return self.A.split(per_moment)

    def with_tolerance(self, value: float, *, relative: bool = False) -> Self:
        """Return the problem with another tolerance for all moments of its spec; constraints keep theirs.

        Parameters
        ----------
        value : float
            The tolerance of every moment.
        relative : bool
            Whether ``value`` multiplies the tolerances that the problem has instead.

        Examples
        --------
        >>> import momentlp as mlp
        >>> problem = mlp.Spec(tolerance=mlp.Absolute(1.0)).compile([[0.0], [1.0]], mean=[1.0])
        >>> problem.with_tolerance(3.0, relative=True).upper
        array([3.])
        """
        return replace(self, blocks=tuple(block.with_tolerance(value, relative=relative) for block in self.blocks))

    def with_block(self, block: MomentBlock) -> Self:
        """Return the problem with more moments; names that are taken get a number."""
        taken, names = set(self.names), []
        for name in block.names:
            number, unique = 2, name
            while unique in taken:
                number, unique = number + 1, f"{name} ({number})"
            taken.add(unique)
            names.append(unique)
        return replace(self, blocks=(*self.blocks, replace(block, names=tuple(names))))

    def with_rows(
        self, features: Any, lower: Any, upper: Any, names: Sequence[str], *, shift: float | Sequence[float] = 0.0
    ) -> Self:
        """Return the problem with more rows ``lower <= (features + shift)^T h <= upper``.

        They speak of the given points: a separator scores new points without them. Only where ``features`` is a sparse
        matrix with no entry at all, so that all points count alike, does ``shift`` count for new ones too.

        Parameters
        ----------
        features : array or sparse matrix, shape (N, r)
        lower, upper : float or array, shape (r,)
        names : sequence of str
        shift : float or sequence of float
        """
        rows = _plain_block(features, lower, upper, names)
        return self.with_block(replace(rows, shift=as_vector(shift, len(rows.names), "shift")))

    def linear_program(self) -> LinearProgram:
        """Write the problem out in the form solvers want."""
        return build_linear_program(self.blocks, self.weights, self.caps)

    def save(self, path: str | Path) -> None:
        """Write everything to one ``.npz`` file of plain arrays, in one step: an interrupted save leaves no half file."""
        from momentlp.problem.problem_file import save_problem

        save_problem(self, Path(path))

    @classmethod
    def load(cls, path: str | Path) -> Problem:
        """Read a problem that :meth:`save` wrote. Files that hold pickles or are cut short are refused."""
        from momentlp.problem.problem_file import load_problem

        return load_problem(Path(path))

    def to_mps(self, path: str | Path) -> None:
        """Write a free-format MPS file for any other solver (a minimisation of minus the size: MPS knows no other)."""
        from momentlp.problem.mps import write_mps

        write_mps(self, Path(path))

    def to_pyomo(self) -> Any:
        """Return a Pyomo ``ConcreteModel`` with components ``membership``, ``moments`` and ``size``, free to extend."""
        from momentlp.backend.registry import pyomo_backend

        return pyomo_backend().to_model(self)

    @classmethod
    def from_pyomo(cls, model: Any) -> Problem:
        """Take a linear Pyomo model back to matrix form: its variables become points, its constraints moments."""
        from momentlp.backend.registry import pyomo_backend

        problem: Problem = pyomo_backend().to_problem(model)
        return problem

    def __repr__(self) -> str:
        points = f"{self.n_points} point{'s' if self.n_points != 1 else ''}"
        names = self.names
        shown = ", ".join(names[:4]) + (", ..." if len(names) > 4 else "")
        return f"Problem({points}, {len(names)} moment{'s' if len(names) != 1 else ''}: {shown})"


def _plain_block(A: Any, lower: Any, upper: Any, names: Sequence[str] | None) -> MomentBlock:
    """Return moments that are the columns of a matrix as they stand."""
    matrix, columns = as_table(A, "A")
    if isinstance(matrix, Chunked):
        summarise(matrix, argument="A")
    n_moments = matrix.shape[1]
    if names is None:
        names = columns or [f"a{moment}" for moment in range(n_moments)]
    if isinstance(names, str) or not isinstance(names, Sequence) or len(names) != n_moments:
        names = names if isinstance(names, Sequence) and not isinstance(names, str) else [str(names)]
        raise DataError(f"names holds {len(names)} name(s), but A has {n_moments} column(s).")
    return MomentBlock(
        features=matrix,
        origin=np.zeros(n_moments),
        transform=None,
        shift=np.zeros(n_moments),
        lower=_as_bound(lower, n_moments, "lower"),
        upper=_as_bound(upper, n_moments, "upper"),
        names=tuple(str(name) for name in names),
    )


def _check_products(weights: FloatArray, caps: FloatArray) -> None:
    """Refuse weights and caps whose products are beyond floats: no certificate could be computed from them."""
    n_points = weights.size
    weights, caps = one_entry_if_constant(weights, caps)
    total = 0.0
    with np.errstate(over="ignore", under="ignore"):
        for start in range(0, weights.size, STRETCH):
            weight, cap = weights[start : start + STRETCH], caps[start : start + STRETCH]
            full = np.abs(weight * cap)
            lost = (weight != 0) & (cap != 0) & (full < 1e-280)
            total += float(full.sum()) * (n_points / weights.size)
            if lost.any() or not total < 1e300:
                end = "vanish" if lost.any() else "overflow"
                raise DataError(
                    f"weights times caps {end}: the weight of a whole point must be a number. Choose other units."
                )


def _kept_small(values: Any, length: int, argument: str) -> Any:
    """Keep one number for all points as one number."""
    return constant_vector(float(as_vector(values, 1, argument)[0]), length) if np.ndim(values) == 0 else values


def _over(vector: FloatArray, unit: float) -> FloatArray:
    return constant_vector(vector[0] / unit, vector.size) if is_constant_vector(vector) else vector / unit


def _as_bound(values: Any, length: int, argument: str) -> FloatArray:
    try:
        bound = np.asarray(values)
    except ValueError:
        raise DataError(f"{argument} must hold {length} number(s), one per moment, not a nested list.") from None
    if bound.dtype.kind not in "biuf":
        raise DataError(f"{argument} must hold numbers (or infinities), not {bound.dtype} values.")
    if bound.shape not in ((), (length,)):
        raise DataError(f"{argument} must hold {length} number(s), one per moment, but its shape is {bound.shape}.")
    return np.array(np.broadcast_to(bound, length), dtype=np.float64)


def _check_block(block: MomentBlock, n_points: int) -> None:
    name = block.names[0] if block.names else "?"
    if block.n_points != n_points:
        raise DataError(f"the block of moment {name!r} has {block.n_points} points, but the first one has {n_points}.")
    width = block.origin.size
    shapes = [(block.features.shape[1], width, "features"), (block.shift.size, block.n_moments, "shift")]
    shapes += [(block.lower.size, block.n_moments, "lower"), (block.upper.size, block.n_moments, "upper")]
    if block.transform is None:
        shapes.append((width, block.n_moments, "origin"))
    elif block.transform.shape != (width, block.n_moments):
        raise DataError(f"transform of moment {name!r} has shape {block.transform.shape}, not {(width, block.n_moments)}.")
    for got, expected, field in shapes:
        if got != expected:
            raise DataError(f"{field} of the block of moment {name!r} has length {got} where {expected} is expected.")
    if not (np.isfinite(block.origin).all() and np.isfinite(block.shift).all()):
        raise DataError(f"origin and shift of the block of moment {name!r} must be finite.")
    lower, upper = block.lower, block.upper
    wrong = ~(lower <= upper) | (lower == np.inf) | (upper == -np.inf)
    if wrong.any():
        at = int(np.argmax(wrong))
        raise DataError(
            f"lower and upper of moment {block.names[at]!r} are {lower[at]} and {upper[at]}: "
            "lower must not exceed upper, and neither may be NaN."
        )

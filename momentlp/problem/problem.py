"""The linear program over memberships. It knows neither specs nor solvers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from momentlp.errors import DataError
from momentlp.points.arrays import FloatArray, IndexArray, divide_vector, one_entry_if_constant
from momentlp.points.validation import as_indices, as_vector
from momentlp.problem.array_input import build_block_from_matrix, keep_constant
from momentlp.problem.linear_program import LinearProgram, build_linear_program
from momentlp.problem.moment_block import MomentBlock
from momentlp.problem.moment_matrix import MomentMatrix
from momentlp.problem.problem_checks import check_block, check_weights_times_caps
from momentlp.problem.whole_sets import as_whole, floor_caps, weight_step

__all__ = ["Problem"]


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
        The maximum membership of each point. A point with cap 2 counts like two equal points.
    labelled : array of int, or None
        The labelled points, if they are points of the problem.
    population : float, optional
        The number of all points, by weight: the sum of the caps before any constraint lowered them.
    whole : bool or array of bool, shape (N,)
        Which memberships must be integers: 0 or 1, or up to the cap of a row that stands for several points. Their caps are
        rounded down.

    Raises
    ------
    DataError
        If arrays do not fit together, caps are negative, bounds are crossed, or two moments have the same name.

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
    whole: NDArray[np.bool_] | bool = False

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
        check_weights_times_caps(self.weights, self.caps)
        object.__setattr__(self, "whole", as_whole(self.whole, n_points))
        if self.is_whole:
            object.__setattr__(self, "caps", floor_caps(self.caps, np.asarray(self.whole)))
        if self.labelled is not None:
            object.__setattr__(self, "labelled", as_indices(self.labelled, n_points, "labelled"))
        for block in blocks:
            check_block(block, n_points)
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
        """Build a problem from its matrix.

        Parameters
        ----------
        A : array, frame or sparse matrix, shape (N, m)
            One row per point, one column per moment; the column names of a frame become the moments' names.
        lower, upper : float or array, shape (m,)
            Bounds on A^T h; ``-inf`` and ``inf`` leave a side open.
        weights, caps : float or array, shape (N,)
            One number for all points, or one per point.
        names : sequence of str, optional
            One per moment. Default: the columns of a frame, or ``a0``, ``a1``, ...

        Returns
        -------
        Problem

        Raises
        ------
        DataError
            If an array cannot be used as it is.

        Examples
        --------
        >>> Problem.from_arrays([[1.0, 2.0]], lower=[0.0, 0.0], upper=[1.0, np.inf]).names
        ('a0', 'a1')
        """
        block = build_block_from_matrix(A, lower, upper, names)
        n_points = block.n_points
        weights, caps = keep_constant(weights, n_points, "weights"), keep_constant(caps, n_points, "caps")
        return cls((block,), as_vector(weights, n_points, "weights"), as_vector(caps, n_points, "caps"))

    @property
    def total(self) -> float:
        """The number of all points by weight, to which the shares of constraints refer."""
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
        """The maximum absolute entry of every moment, shape (m,): the unit of moments for solvers and for multipliers."""
        with np.errstate(over="ignore", invalid="ignore"):
            max_abs = self.A.per_moment("max_abs")
        self.require_finite(max_abs)
        return max_abs

    @cached_property
    def noise(self) -> NDArray[np.bool_]:
        """Which moments consist of rounding errors alone, shape (m,): those of constant features with a rounded mean.

        Scaled up like the others, such a moment would be an equation that no set of points can meet. It is ignored.
        """
        return self.A.per_moment("noise").astype(bool)

    def require_finite(self, per_moment: FloatArray) -> None:
        """Check that no moment overflows: that ``per_moment``, shape (m,), holds neither infinity nor NaN.

        Raises
        ------
        DataError
            If a moment overflows. The message names it.
        """
        if not np.isfinite(per_moment).all():
            name = self.names[int(np.argmax(~np.isfinite(per_moment)))]
            raise DataError(f"moment {name!r} overflows: its values are too far apart. Rescale that feature.")

    @cached_property
    def point_weight(self) -> float:
        """The weight of a typical point: the median of ``weights * caps`` where it is not zero."""
        weights, caps = one_entry_if_constant(self.weights, self.caps)
        full = np.abs(weights * caps)
        return float(np.median(full[full > 0])) if (full > 0).any() else 1.0

    @property
    def is_whole(self) -> bool:
        """Whether some memberships must be integers."""
        return bool(one_entry_if_constant(np.asarray(self.whole))[0].any())

    @cached_property
    def weight_step(self) -> float:
        """The largest number of which the weight of every whole set is a multiple; 0 if there is none."""
        return weight_step(self.weights, self.caps, np.asarray(self.whole))

    def relaxed(self) -> Self:
        """Return the linear program: the same problem, with memberships that may be fractional.

        Examples
        --------
        >>> problem = replace(Problem.from_arrays([[1.0]], lower=0.0, upper=0.5), whole=True)
        >>> problem.is_whole, problem.relaxed().is_whole
        (True, False)
        """
        return replace(self, whole=False) if self.is_whole else self

    @property
    def zero_is_feasible(self) -> bool:
        """Whether the empty set meets every bound, as it does unless a constraint asks for a minimum size."""
        return bool((self.lower <= 0).all() and (self.upper >= 0).all())

    def scaled(self, factors: FloatArray, *, weight: float = 1.0, cap: float = 1.0) -> Self:
        """Return the problem in other units.

        If (h', y') solves the scaled problem, then ``h = cap h'`` and ``y = weight * factors * y'`` solve this one.

        Parameters
        ----------
        factors : array, shape (m,)
            Every moment and its bounds are multiplied by its factor.
        weight : float
            The weights are divided by it.
        cap : float
            Memberships, caps and bounds are divided by it. It must be 1 for a problem with memberships that must be whole.

        Examples
        --------
        >>> Problem.from_arrays([[1.0]], lower=0.0, upper=3.0).scaled(np.array([2.0])).upper
        array([6.])
        """
        blocks = []
        for block, part in zip(self.blocks, self.split_by_block(factors), strict=True):
            changed = block.scaled(part)
            blocks.append(replace(changed, lower=changed.lower / cap, upper=changed.upper / cap) if cap != 1 else changed)
        return replace(
            self, blocks=tuple(blocks), weights=divide_vector(self.weights, weight), caps=divide_vector(self.caps, cap)
        )

    def split_by_block(self, per_moment: FloatArray) -> list[FloatArray]:
        """Cut an array with one entry per moment into one piece per block.

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
        """Return the problem with more moments.

        Parameters
        ----------
        block : MomentBlock
            Of the same points. A name that another moment has gets a number: ``share`` becomes ``share (2)``.

        Examples
        --------
        >>> problem = Problem.from_arrays([[1.0]], lower=0.0, upper=3.0, names=["x"])
        >>> problem.with_block(problem.blocks[0]).names
        ('x', 'x (2)')
        """
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

        The rows apply to the points of this problem: a separator scores new points without them. There is one exception.
        If ``features`` is a sparse matrix without any entry, all points have the same row, and ``shift`` counts for new
        points too.

        Parameters
        ----------
        features : array or sparse matrix, shape (N, r)
        lower, upper : float or array, shape (r,)
            ``-inf`` and ``inf`` leave a side open.
        names : sequence of str
            One per row.
        shift : float or sequence of float
            Added to every entry of a row.

        Returns
        -------
        Problem

        Raises
        ------
        DataError
            If an array cannot be used as it is.

        Examples
        --------
        >>> problem = Problem.from_arrays([[1.0], [2.0]], lower=0.0, upper=3.0)
        >>> problem.with_rows(np.zeros((2, 1)), -np.inf, 1.0, ["at most one"], shift=1.0).A.toarray()
        array([[1., 1.],
               [2., 1.]])
        """
        rows = build_block_from_matrix(features, lower, upper, names)
        return self.with_block(replace(rows, shift=as_vector(shift, len(rows.names), "shift")))

    def linear_program(self) -> LinearProgram:
        """Return the problem in the matrix form that solvers take; features in chunks are loaded into memory.

        Raises
        ------
        CompileError
            If features that are read in chunks are too many for memory.

        Examples
        --------
        >>> program = Problem.from_arrays([[-1.0], [1.0]], lower=0.0, upper=0.5).linear_program()
        >>> program.matrix.toarray(), program.row_upper
        (array([[-1.,  1.]]), array([0.5]))
        """
        return build_linear_program(self.blocks, self.weights, self.caps, np.asarray(self.whole) if self.is_whole else None)

    def save(self, path: str | Path) -> None:
        """Write the problem to ``path``, one ``.npz`` file of plain arrays; an interrupted save leaves no partial file.

        Raises
        ------
        FileFormatError
            If the problem holds a fitted transformer, which would need a pickle.
        CompileError
            If features that are read in chunks are too many for memory.
        DataError
            If the folder does not exist.

        Examples
        --------
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Problem.from_arrays([[1.0]], 0.0, 3.0).save(Path(folder) / "problem.npz")
        ...     Problem.load(Path(folder) / "problem.npz")
        Problem(1 point, 1 moment: a0)
        """
        from momentlp.problem.problem_file import save_problem

        save_problem(self, Path(path))

    @classmethod
    def load(cls, path: str | Path) -> Problem:
        """Return the problem that :meth:`save` wrote to ``path``. Nothing in the file is run.

        Raises
        ------
        FileFormatError
            If the file is missing, damaged, cut short, holds pickles, or is of another format.
        """
        from momentlp.problem.problem_file import load_problem

        return load_problem(Path(path))

    def to_mps(self, path: str | Path) -> None:
        """Write ``path``, a free-format MPS file for other solvers, as a minimisation of minus the size.

        Memberships that must be integers stand between the markers ``'INTORG'`` and ``'INTEND'``. :meth:`from_mps` reads the
        same program back. Names of moments are changed where MPS does not allow them, for example those with blanks.

        Raises
        ------
        DataError
            If the folder does not exist.

        Examples
        --------
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Problem.from_arrays([[1.0]], 0.0, 3.0).to_mps(Path(folder) / "problem.mps")
        ...     print((Path(folder) / "problem.mps").read_text().splitlines()[0])
        NAME momentlp_1x1 FREE
        """
        from momentlp.problem.mps import write_mps

        write_mps(self, Path(path))

    @classmethod
    def from_mps(cls, path: str | Path) -> Problem:
        """Return the problem of an MPS file in free or fixed format: its columns become points, its rows moments.

        Names of rows become names of moments. Columns that must be integers are ``whole``. A minimisation is negated. If a
        column has a lower bound other than 0, its membership is counted from that bound, so the objective differs from that
        of the file by a constant. Every column needs finite bounds, except a column that one row defines as the sum of all
        others: it is substituted, as :meth:`to_mps` writes such a column for sparse features with a mean.

        Blanks separate the fields of free format. A file that cannot be read in this way, because names hold blanks, is read
        in fixed format, by its columns.

        Parameters
        ----------
        path : str or Path
            A file with the sections NAME, OBJSENSE, ROWS, COLUMNS, RHS, RANGES, BOUNDS and ENDATA. Of several rows of type N
            the first is the objective, and the others become moments without bounds. An integer column without any bound
            lies between 0 and 1. Bounds of columns of 1e30 or more are infinite.

        Returns
        -------
        Problem

        Raises
        ------
        FileFormatError
            If the file is missing or damaged, or is no linear program with bounded columns. The message gives the line.

        Examples
        --------
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder) / "problem.mps"
        ...     Problem.from_arrays([[-1.0], [1.0]], 0.0, 0.5, names=["x"]).to_mps(path)
        ...     Problem.from_mps(path)
        Problem(2 points, 1 moment: x)
        """
        from momentlp.problem.mps_reader import read_mps

        return read_mps(Path(path))

    def to_pyomo(self) -> Any:
        """Return a Pyomo ``ConcreteModel`` with components ``membership``, ``moments`` and ``size``, free to extend.

        Raises
        ------
        BackendUnavailableError
            If Pyomo is not installed.

        Examples
        --------
        >>> model = Problem.from_arrays([[-1.0], [1.0]], 0.0, 0.5, names=["x"]).to_pyomo()
        >>> Problem.from_pyomo(model)
        Problem(2 points, 1 moment: x)
        """
        from momentlp.backend.registry import pyomo_backend

        return pyomo_backend().to_model(self)

    @classmethod
    def from_pyomo(cls, model: Any) -> Problem:
        """Return the problem of a linear Pyomo model: its variables become points, its constraints moments.

        Parameters
        ----------
        model : pyomo.environ.ConcreteModel
            With an objective to maximise and finite bounds on every variable.

        Raises
        ------
        ModelError
            If the model cannot be written as a linear program over memberships.
        """
        from momentlp.backend.registry import pyomo_backend

        problem: Problem = pyomo_backend().to_problem(model)
        return problem

    def __repr__(self) -> str:
        points = f"{self.n_points} point{'s' if self.n_points != 1 else ''}"
        names = self.names
        shown = ", ".join(names[:4]) + (", ..." if len(names) > 4 else "")
        return f"Problem({points}, {len(names)} moment{'s' if len(names) != 1 else ''}: {shown})"

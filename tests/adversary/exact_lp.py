"""Small linear programs in exact arithmetic, with an answer that proves itself.

::

    maximise  w . h     subject to   L <= M h <= U,   0 <= h <= u

Nothing here uses the package. The method is a dual simplex with bounds:

1. Every row is multiplied by an integer, and every variable is measured in units of its cap (``h_i = u_i z_i``), so all
   numbers are integers. Every row has a variable of its own, ``s_j = (M h)_j``. A side without a bound gets one that
   ``0 <= z <= 1`` implies. So every variable has two bounds, and every basis becomes dual feasible when each variable
   outside the basis stands at the bound that its reduced cost asks for.
2. A guess of the basis comes from floats (``scipy.optimize.linprog``). It only saves pivots.
3. Pivots keep integers (the division by the previous pivot is exact). After many pivots Bland's rule decides, so it ends.
4. The answer is checked from the integer program alone: the optimum by weak duality, infeasibility by a Farkas vector.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import gcd, lcm

import numpy as np
from scipy.optimize import linprog

__all__ = ["ExactLP", "LPResult", "solve_exact"]

Bound = Fraction | None
MAX_GREEDY_PIVOTS = 200  # by the largest violation; after these, Bland's rule


@dataclass(frozen=True)
class ExactLP:
    """A linear program in fractions.

    Attributes
    ----------
    rows : sequence of sequences of Fraction
        M, one sequence of n entries per row.
    lower, upper : sequences of Fraction or None
        Bounds of the rows; None leaves a side open.
    weights, caps : sequences of Fraction
        w and u; no cap is negative.
    """

    rows: Sequence[Sequence[Fraction]]
    lower: Sequence[Bound]
    upper: Sequence[Bound]
    weights: Sequence[Fraction]
    caps: Sequence[Fraction]


@dataclass(frozen=True)
class LPResult:
    """The proved answer.

    Attributes
    ----------
    optimum : Fraction or None
        None if no h is feasible.
    h : list of Fraction
        The optimal h; empty if none is feasible.
    y : list of Fraction
        The multipliers of the rows: optimal, or a Farkas vector; a unit vector for a row whose bounds contradict each other.
    pivots : int
        How many pivots it took.
    """

    optimum: Fraction | None
    h: list[Fraction]
    y: list[Fraction]
    pivots: int

    @property
    def feasible(self) -> bool:
        """Whether some h meets all bounds."""
        return self.optimum is not None


def solve_exact(program: ExactLP, *, guess: bool = True) -> LPResult:
    """Solve a program and prove the answer.

    Parameters
    ----------
    program : ExactLP
    guess : bool
        Whether to start from a basis that floats suggest.

    Raises
    ------
    ArithmeticError
        If the answer does not prove itself: a defect of this module.
    """
    scaled = _Integers.of(program)
    for j, (low, high) in enumerate(zip(scaled.lower, scaled.upper, strict=True)):
        if low is not None and high is not None and low > high:  # the row itself is the proof
            return LPResult(None, [], [Fraction(int(k == j)) for k in range(len(scaled.entries))], 0)
    tableau = _Tableau(scaled)
    if guess:
        tableau.adopt(*_guess_basis(scaled))
    return tableau.solve()


@dataclass(frozen=True)
class _Integers:
    """The program in integers: ``maximise c . z``, ``lower <= E z <= upper``, ``0 <= z <= 1``.

    ``row_units`` are the factors of the rows, ``weight_unit`` that of the objective.
    """

    entries: list[list[int]]
    lower: list[int | None]
    upper: list[int | None]
    costs: list[int]
    row_units: list[Fraction]
    weight_unit: Fraction
    caps: Sequence[Fraction]

    @classmethod
    def of(cls, program: ExactLP) -> _Integers:
        entries, lower, upper, units = [], [], [], []
        for row, low, high in zip(program.rows, program.lower, program.upper, strict=True):
            numbers = [entry * cap for entry, cap in zip(row, program.caps, strict=True)]
            whole, unit = _to_integers([*numbers, low or Fraction(0), high or Fraction(0)])
            entries.append(whole[:-2])
            lower.append(None if low is None else whole[-2])
            upper.append(None if high is None else whole[-1])
            units.append(unit)
        costs, weight_unit = _to_integers([w * cap for w, cap in zip(program.weights, program.caps, strict=True)])
        return cls(entries, lower, upper, costs, units, weight_unit, program.caps)

    def bound_times(self, y: Sequence[int], scale: int, *, costs: bool = True) -> int | None:
        """Return ``scale`` times the bound that the multipliers ``y / scale`` prove; None if y has a wrong sign."""
        total = 0
        for value, low, high in zip(y, self.lower, self.upper, strict=True):
            facing = high if value > 0 else low
            if value and facing is None:
                return None
            total += value * facing if value else 0
        for i, cost in enumerate(self.costs):
            score = (cost * scale if costs else 0) - sum(value * row[i] for value, row in zip(y, self.entries, strict=True))
            total += max(score, 0)
        return total

    def is_feasible(self, z: Sequence[int], scale: int) -> bool:
        """Whether ``z / scale`` meets all bounds."""
        if any(value < 0 or value > scale for value in z):
            return False
        for row, low, high in zip(self.entries, self.lower, self.upper, strict=True):
            activity = sum(entry * value for entry, value in zip(row, z, strict=True) if value)
            if (low is not None and activity < low * scale) or (high is not None and activity > high * scale):
                return False
        return True

    def multipliers(self, y: Sequence[int], scale: int) -> list[Fraction]:
        """Return y in the units of the original rows and weights."""
        return [Fraction(v, scale) * unit / self.weight_unit for v, unit in zip(y, self.row_units, strict=True)]


def _to_integers(numbers: list[Fraction]) -> tuple[list[int], Fraction]:
    """Return the numbers times a positive factor that makes them integers without a common divisor, and that factor."""
    denominator = lcm(*(number.denominator for number in numbers))
    whole = [number.numerator * (denominator // number.denominator) for number in numbers]
    common = gcd(*whole) or 1
    return [number // common for number in whole], Fraction(denominator, common)


def _guess_basis(scaled: _Integers) -> tuple[list[int], list[int]]:
    """Return which points and which rows floats put strictly between their bounds."""
    m = len(scaled.entries)
    if not m:
        return [], []
    units = [max(max(map(abs, row), default=1), 1) for row in scaled.entries]
    A = np.array([[entry / unit for entry in row] for row, unit in zip(scaled.entries, units, strict=True)])
    low, high = (
        np.array([sign * np.inf if b is None else _ratio(b, unit) for b, unit in zip(bounds, units, strict=True)])
        for bounds, sign in ((scaled.lower, -1), (scaled.upper, 1))
    )
    largest = max(map(abs, scaled.costs), default=1) or 1
    c = np.array([-cost / largest for cost in scaled.costs])
    has_high, has_low = np.isfinite(high), np.isfinite(low)
    found = linprog(
        c, A_ub=np.vstack([A[has_high], -A[has_low]]), b_ub=np.concatenate([high[has_high], -low[has_low]]),
        bounds=(0, 1), method="highs",
    )  # fmt: skip
    if found.x is None:
        return [], list(range(m))
    inside = np.flatnonzero((found.x > 1e-9) & (found.x < 1 - 1e-9))
    activity = A @ found.x
    loose = np.flatnonzero((activity > low + 1e-9) & (activity < high - 1e-9))
    return inside.tolist(), loose.tolist()


def _ratio(numerator: int, denominator: int) -> float:
    try:
        return numerator / denominator
    except OverflowError:
        return np.inf if numerator > 0 else -np.inf


class _Tableau:
    """Rows ``D x_basic + sum_k T_k x_k = 0`` over the variables outside the basis; the last row holds the objective.

    Variables 0 .. n-1 are z, variables n .. n+m-1 are the activities s of the rows.
    """

    def __init__(self, scaled: _Integers) -> None:
        self.scaled = scaled
        self.n, self.m = len(scaled.costs), len(scaled.entries)
        self.T = [[-entry for entry in row] for row in (*scaled.entries, scaled.costs)]
        self.D = 1
        self.basic = [self.n + j for j in range(self.m)]
        self.outside = list(range(self.n))
        self.low = [0] * self.n
        self.high = [1] * self.n
        for row, low, high in zip(scaled.entries, scaled.lower, scaled.upper, strict=True):
            self.low.append(sum(min(entry, 0) for entry in row) - 1 if low is None else low)
            self.high.append(sum(max(entry, 0) for entry in row) + 1 if high is None else high)
            if low is None:
                self.low[-1] = min(self.low[-1], self.high[-1])
            if high is None:
                self.high[-1] = max(self.high[-1], self.low[-1])
        self.value: list[int] = []  # of the variables outside the basis, in their order
        self.pivots = 0

    def adopt(self, points: list[int], rows: list[int]) -> None:
        """Pivot the points into the basis in place of rows that are not named in ``rows``, as far as that is possible."""
        loose = {self.n + j for j in rows}
        for point in points:
            column = self.outside.index(point)
            for r in range(self.m):
                if self.basic[r] >= self.n and self.basic[r] not in loose and self.T[r][column]:
                    self.pivot(r, column)
                    break

    def pivot(self, r: int, column: int) -> None:
        """Exchange the basic variable of row r and the variable of a column."""
        T, D = self.T, self.D
        pivot_row, p = T[r], T[r][column]
        for i, row in enumerate(T):
            if i == r:
                continue
            factor = row[column]
            if factor:
                T[i] = [(p * a - factor * b) // D for a, b in zip(row, pivot_row, strict=True)]
            else:
                T[i] = [p * a // D for a in row]
            T[i][column] = -factor
        pivot_row[column] = D
        self.D = p
        if p < 0:
            self.D = -p
            self.T = [[-a for a in row] for row in T]
        self.basic[r], self.outside[column] = self.outside[column], self.basic[r]
        self.pivots += 1

    def solve(self) -> LPResult:
        """Run the dual simplex to its end."""
        # d_k = -T_k / D is the reduced cost: a positive one wants the upper bound.
        self.value = [self.high[v] if t < 0 else self.low[v] for v, t in zip(self.outside, self.T[-1], strict=True)]
        started = self.pivots
        while True:
            levels = [self.level(r) for r in range(self.m)]
            r = self.leaving_row(levels, bland=self.pivots - started > MAX_GREEDY_PIVOTS)
            if r is None:
                return self.optimal(levels)
            variable = self.basic[r]
            below = levels[r] < self.low[variable] * self.D
            column = self.entering_column(r, below=below)
            if column is None:
                return self.infeasible(r)
            self.pivot(r, column)
            self.value[column] = self.low[variable] if below else self.high[variable]

    def level(self, r: int) -> int:
        """Return D times the value of the basic variable of row r."""
        return -sum(t * x for t, x in zip(self.T[r], self.value, strict=True) if x)

    def leaving_row(self, levels: list[int], *, bland: bool) -> int | None:
        """Return a row whose basic variable is outside its bounds; None if there is none."""
        D = self.D
        violated = [
            (max(self.low[v] * D - level, level - self.high[v] * D), r)
            for r, (v, level) in enumerate(zip(self.basic, levels, strict=True))
            if level < self.low[v] * D or level > self.high[v] * D
        ]
        if not violated:
            return None
        if bland:
            return min((r for _, r in violated), key=lambda r: self.basic[r])
        return max(violated, key=lambda pair: Fraction(pair[0], max(map(abs, self.T[pair[1]]), default=1) or 1))[1]

    def entering_column(self, r: int, *, below: bool) -> int | None:
        """Return the column with the smallest ratio, of the smallest variable among equals; None if no variable can help."""
        best: tuple[int, int, int] | None = None  # |T_objective|, |T_r|, column
        for column, (t, v, x) in enumerate(zip(self.T[r], self.outside, self.value, strict=True)):
            if not t or self.low[v] == self.high[v]:
                continue
            rises = x == self.low[v]
            if (t < 0) != (rises == below):  # the basic variable is -T x / D
                continue
            cost = abs(self.T[-1][column])
            if best is None:
                best = (cost, abs(t), column)
                continue
            ahead = cost * best[1] - best[0] * abs(t)
            if ahead < 0 or (ahead == 0 and v < self.outside[best[2]]):
                best = (cost, abs(t), column)
        return None if best is None else best[2]

    def optimal(self, levels: list[int]) -> LPResult:
        """Return the optimum after its check: z is feasible, and y proves that nothing is heavier."""
        z, y = [0] * self.n, [0] * self.m
        for v, level in zip(self.basic, levels, strict=True):
            if v < self.n:
                z[v] = level
        for v, x, t in zip(self.outside, self.value, self.T[-1], strict=True):
            if v < self.n:
                z[v] = x * self.D
            else:
                y[v - self.n] = -t
        total = sum(cost * value for cost, value in zip(self.scaled.costs, z, strict=True))
        if not self.scaled.is_feasible(z, self.D) or self.scaled.bound_times(y, self.D) != total:
            raise ArithmeticError("the optimum does not prove itself.")
        return LPResult(
            Fraction(total, self.D) / self.scaled.weight_unit,
            [Fraction(value, self.D) * cap for value, cap in zip(z, self.scaled.caps, strict=True)],
            self.scaled.multipliers(y, self.D),
            self.pivots,
        )

    def infeasible(self, r: int) -> LPResult:
        """Return the Farkas vector of row r after its check: its bound on zero is negative."""
        y = [0] * self.m
        for v, t in ((self.basic[r], self.D), *zip(self.outside, self.T[r], strict=True)):
            if v >= self.n:
                y[v - self.n] = t
        for sign in (1, -1):
            # A side that has no bound adds nothing to the proof: what stands there follows from 0 <= z <= 1.
            signed = [
                sign * value if (high if sign * value > 0 else low) is not None else 0
                for value, low, high in zip(y, self.scaled.lower, self.scaled.upper, strict=True)
            ]
            bound = self.scaled.bound_times(signed, 1, costs=False)
            if bound is not None and bound < 0:
                return LPResult(None, [], self.scaled.multipliers(signed, 1), self.pivots)
        raise ArithmeticError("the infeasibility does not prove itself.")

"""What to do with a fitted classifier: other thresholds, points to label next, and which columns matter."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from momentlp.errors import DataError, OptionError
from momentlp.estimator.decision_rule import DecisionRule
from momentlp.estimator.score_model import ScoreModel
from momentlp.points.arrays import FloatArray, IndexArray, Matrix, is_sparse
from momentlp.runtime.argument_checks import check_integer, check_number
from momentlp.runtime.html_table import html_table
from momentlp.runtime.steps import report_step
from momentlp.runtime.text_table import align_columns

__all__ = ["Importance", "Threshold", "column_importance", "find_threshold", "most_uncertain"]

MAX_SHOWN = 20  # columns in the text of an importance
SECONDS_BETWEEN_REPORTS = 2.0


@dataclass(frozen=True)
class Threshold:
    """A threshold of the score, and what to expect of the unlabelled points above it.

    Attributes
    ----------
    offset : float
        Points with ``score_samples`` above it are taken.
    precision, recall : float
        Expected share of members among the points taken, and expected share of all members that is taken.
    share : float
        Share of the unlabelled points that is taken.
    """

    offset: float
    precision: float
    recall: float
    share: float


def find_threshold(rule: DecisionRule, precision: Any, recall: Any) -> Threshold:
    """Return the threshold with the largest recall at a precision, or the largest precision at a recall.

    Parameters
    ----------
    rule : DecisionRule
    precision, recall : float or None
        One of them; both None for the threshold of the rule itself.

    Raises
    ------
    OptionError
        If both are given, or a number is not between 0 and 1, or no threshold is expected to reach it.
    DataError
        If the rule has no model of the scores.
    """
    model = rule.calibration
    if not isinstance(model, ScoreModel):
        raise DataError("thresholds need a model of the scores, which only features='auto' has: use that.")
    if precision is not None and recall is not None:
        raise OptionError("precision and recall cannot both be wanted: give one, and read the other from the result.")
    node: int | None = int(np.argmax(model.f1))
    for name, value in (("precision", precision), ("recall", recall)):
        if value is not None:
            wanted = check_number(name, value, above=0, maximum=1, hint="0.9, for instance.")
            node = model.first_with(**{name: wanted})
            if node is None:
                best = getattr(model, name).max()
                raise OptionError(
                    f"{name} {wanted:g} is expected at no threshold: the largest is {best:.3f}. The estimate allows for "
                    f"what the labelled points leave open: label more (query() says which), or ask for a smaller {name}."
                )
    assert node is not None  # noqa: S101  the loop raises otherwise
    return Threshold(model.cut_at(node), *(float(getattr(model, name)[node]) for name in ("precision", "recall", "share")))


def most_uncertain(membership: FloatArray, unlabelled: FloatArray, n: Any) -> IndexArray:
    """Return the unlabelled rows whose membership is the most uncertain, the most uncertain first.

    Parameters
    ----------
    membership : array, shape (N,)
        Probabilities of membership.
    unlabelled : array, shape (N,)
        Weights; 0 for points whose label is known.
    n : int
        The number of rows, at least 1.
    """
    n = check_integer("n", n, minimum=1)
    candidates = np.flatnonzero(unlabelled > 0)
    order = np.argsort(np.abs(membership[candidates] - 0.5), kind="stable")
    return np.asarray(candidates[order[:n]])


@dataclass(frozen=True, eq=False)
class Importance:
    """How much each column of X matters for the scores: the table of ``MomentClassifier.importance``.

    Attributes
    ----------
    names : tuple of str
        The columns.
    mean, deviation : array, shape (d,)
        ``1 - R^2`` between the scores and those with the column shuffled: 0 if the column changes nothing, 1 or more if it
        decides alone. Mean and standard deviation over the repetitions.
    """

    names: tuple[str, ...]
    mean: FloatArray
    deviation: FloatArray

    @property
    def order(self) -> IndexArray:
        """Positions of the columns, the most important first."""
        return np.argsort(-self.mean, kind="stable")

    def __iter__(self) -> Iterator[tuple[str, float]]:
        return ((self.names[j], float(self.mean[j])) for j in self.order)

    def __len__(self) -> int:
        return len(self.names)

    def _rows(self) -> list[list[str]]:
        return [[self.names[j], f"{self.mean[j]:.4f}", f"{self.deviation[j]:.4f}"] for j in self.order[:MAX_SHOWN]]

    def __repr__(self) -> str:
        left = len(self) - MAX_SHOWN
        more = f"\n... and {left} less important columns" if left > 0 else ""
        return align_columns([["column", "importance", "deviation"], *self._rows()]) + more

    def _repr_html_(self) -> str:
        return html_table("Importance of the columns", self._rows(), ("column", "importance", "deviation"))


def column_importance(
    rule: DecisionRule, X: Matrix, names: tuple[str, ...], n_repeats: int, random: np.random.Generator
) -> Importance:
    """Shuffle one column at a time, and compare the scores with those before.

    Parameters
    ----------
    rule : DecisionRule
    X : array or csr_array, shape (n, d)
    names : tuple of str
        The d columns.
    n_repeats : int
        How often each column is shuffled.
    random : Generator
    """
    before = rule.score(X)
    spread = float(before.var()) or 1.0
    losses = np.zeros((len(names), n_repeats))
    work = X.tolil() if is_sparse(X) else X.copy()
    reported = -np.inf
    for j in range(len(names)):
        if time.monotonic() - reported > SECONDS_BETWEEN_REPORTS:
            report_step(f"shuffling column {j + 1} of {len(names)}")
            reported = time.monotonic()
        column = work[:, [j]].copy()
        for repeat in range(n_repeats):
            work[:, [j]] = column[random.permutation(X.shape[0])]
            after = rule.score(work.tocsr() if is_sparse(X) else work)
            losses[j, repeat] = float(((after - before) ** 2).mean()) / (2 * spread)
        work[:, [j]] = column
    return Importance(names, losses.mean(axis=1), losses.std(axis=1))

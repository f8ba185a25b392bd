"""Whether the zeros are linearly separable, and whether they are the largest set with their true mean."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray

from momentlp.experiments.engine.journal import Record
from momentlp.experiments.engine.report import Claim, Report, Table
from momentlp.experiments.engine.runner import Experiment, Settings, Task
from momentlp.points.arrays import FloatArray
from momentlp.solving.solve_problem import solve
from momentlp.spec.spec import Spec
from momentlp.spec.tolerances import Absolute

__all__ = ["USPS_MEAN"]

PENALTIES = (0.1, 1.0, 10.0, 100.0)  # C of the support vector machine
WIDTHS = (1e-6, 1.0, 30.0)  # tolerances on the sum
TOL = 1e-6  # of the certificate


def count_svm_errors(X: FloatArray, zero: NDArray[np.bool_], penalty: float) -> list[Record]:
    """Train a linear support vector machine on all images and count its errors on them."""
    from sklearn.svm import SVC

    wrong = int((SVC(kernel="linear", C=penalty).fit(X, zero).predict(X) != zero).sum())
    return [{"method": f"linear SVM, C = {penalty:g}", "wrong": wrong, "found": "", "gap": ""}]


def find_by_true_mean(X: FloatArray, zero: NDArray[np.bool_], eps: float) -> list[Record]:
    """Find the largest set with the mean of the zeros."""
    solution = solve(Spec(tolerance=Absolute(eps)).compile(X, mean=X[zero].mean(axis=0)), tol=TOL)
    found = solution.membership > 0.5
    return [
        {
            "method": f"true mean, eps = {eps:g}",
            "wrong": int((found != zero).sum()),
            "found": round(solution.objective, 4),
            "gap": f"{solution.certificate.gap:.0e}" if solution.certificate.holds(TOL) else "not proved",
        }
    ]


def tasks(settings: Settings) -> Iterator[Task]:
    """Yield one task for each penalty of the machine and for each tolerance of the linear program."""
    X, zero = settings.digits.X, settings.digits.labels == 0
    for penalty in PENALTIES:
        yield Task(f"svm {penalty:g}", partial(count_svm_errors, X, zero, penalty))
    for eps in WIDTHS:
        yield Task(f"mean {eps:g}", partial(find_by_true_mean, X, zero, eps))


def report(settings: Settings, records: list[Record]) -> Report:
    """Report the errors of both."""
    machines, sets = records[: len(PENALTIES)], records[len(PENALTIES) :]
    best = min(machines, key=lambda record: int(record["wrong"]))
    counts = ", ".join(f"{record['wrong']} ({record['method'].rpartition(' = ')[2]})" for record in machines)
    exact = sets[0]
    claims = [
        Claim("errors of a linear SVM on all images", "1", f"{counts} by C", int(best["wrong"]) <= 1),
        Claim(
            "images in which the set found by the true mean differs from the zeros",
            "1",
            f"{exact['wrong']} at eps = {WIDTHS[0]:g}",
            int(exact["wrong"]) <= 1,
        ),
    ]
    n_zero = int((settings.digits.labels == 0).sum())
    title = (
        f"{settings.digits.title}: {len(settings.digits.X)} images, {n_zero} zeros. Images on the wrong side, the size of "
        "the set found, and the gap of its certificate."
    )
    return Report([Table("usps-mean", title, records)], claims)


USPS_MEAN = Experiment("usps-mean", "The zeros by their true mean", tasks, report)

"""The paper's three feature spaces on the digits: pixels, all products of two pixels, and the kernel of every image.

The paper shows the second and the third on made-up points of two dimensions only. On 256 pixels they have thousands of
moments: 33,152 products, or one kernel column for each image.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray

from momentlp.experiments.engine.digit_images import split
from momentlp.experiments.engine.journal import Record
from momentlp.experiments.engine.metrics import precision_recall_f1
from momentlp.experiments.engine.report import Claim, Report, Table
from momentlp.experiments.engine.runner import Experiment, Settings, Task
from momentlp.features import FeatureMap, Kernel, Linear, Quadratic
from momentlp.points.arrays import FloatArray
from momentlp.solving.solve_problem import solve
from momentlp.spec.spec import Spec
from momentlp.spec.tolerances import Absolute

__all__ = ["FEATURE_SPACES"]

N_LABELLED = 300
CASES: dict[str, tuple[FeatureMap, tuple[float, ...]]] = {  # with tolerances on the sum, as multiples of that for pixels
    "pixels": (Linear(), (1.0,)),
    "kernel of every image": (Kernel(), (1 / 30, 1 / 6)),
    "products of two pixels": (Quadratic(), (1.0, 10 / 3)),
}


def measure(
    name: str, eps: float, X: FloatArray, labels: NDArray[np.int64], n_known: int, n_apart: int, number: int
) -> list[Record]:
    """Find the zeros of one split in one feature space."""
    unlabelled, truth, sample = split(X, labels, n_known, n_apart, number)
    solution = solve(Spec(features=CASES[name][0], tolerance=Absolute(eps)).compile(unlabelled, sample=sample))
    found = solution.membership > 0.5
    return [
        {
            "features": name,
            "moments": solution.problem.n_moments,
            "eps": round(eps, 6),
            "images": len(unlabelled),
            "zeros": int(truth.sum()),
            "found": round(solution.objective, 2),
            **precision_recall_f1(found, truth),
            "at a bound": int(np.count_nonzero(solution.multipliers)),
            "gap": f"{solution.certificate.gap:.0e}" if solution.certificate.holds() else "not proved",
        }
    ]


def tasks(settings: Settings) -> Iterator[Task]:
    """Yield one task for each feature space and tolerance, on the first split."""
    digits = settings.digits
    n_known = digits.nearest_size(N_LABELLED)
    for name, (_, widths) in CASES.items():
        for eps in (width * settings.eps for width in widths):
            work = partial(measure, name, eps, digits.X, digits.labels, n_known, digits.n_apart, settings.seed)
            yield Task(f"{name}, eps {eps:g}", work)


def report(settings: Settings, records: list[Record]) -> Report:
    """Report size, precision and recall, and whether each is proved."""
    proved = sum(record["gap"] != "not proved" for record in records)
    claim = Claim(
        "largest sets in the paper's three feature spaces, on the digits",
        "pixels only",
        f"{proved} of {len(records)} proved",
        proved == len(records),
    )
    title = (
        f"{settings.digits.title}, one split, {settings.digits.nearest_size(N_LABELLED)} labelled zeros apart: the largest "
        "set with their mean in each feature space. *At a bound*: moments with a multiplier. *Gap*: that of the certificate."
    )
    return Report([Table("feature-spaces", title, records)], [claim])


FEATURE_SPACES = Experiment("feature-spaces", "The paper's feature spaces on the digits", tasks, report, needs_epsilon=True)

"""Measure the effect of each default of MomentClassifier: one is changed at a time, on splits not used elsewhere.

Run ``python -m benchmarks.classes.defaults --data FOLDER`` with the folder of the USPS digits. With ``--docs FOLDER`` it
writes ``defaults.md`` there.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.metrics import f1_score

from benchmarks.classes.cases import TITLES, Case, cases, split
from benchmarks.common.report import format_markdown
from momentlp import MomentClassifier, Spectral
from momentlp.errors import DataError

FIRST_SPLIT = 1000  # the benchmark of classes uses splits 0 to 9
GRAPH: dict[str, Any] = {"n_components": 16, "n_neighbors": 5, "walk": 0.02, "scale": "range"}


def _make_model(**changed: Any) -> MomentClassifier:
    return MomentClassifier(Spectral(**{**GRAPH, **changed}))


VARIANTS: dict[str, MomentClassifier] = {
    "the default": _make_model(),
    "8 components": _make_model(n_components=8),
    "12 components": _make_model(n_components=12),
    "24 components": _make_model(n_components=24),
    "3 neighbours": _make_model(n_neighbors=3),
    "7 neighbours": _make_model(n_neighbors=7),
    "10 neighbours": _make_model(n_neighbors=10),
    "no walk": _make_model(walk=None),
    "walk stops with 0.01": _make_model(walk=0.01),
    "walk stops with 0.05": _make_model(walk=0.05),
    "columns as they are": _make_model(scale="none"),
    "1.6 standard errors, no margin": _make_model().set_params(tolerance=1.6),
    "3.5 standard errors, no margin": _make_model().set_params(tolerance=3.5),
    "1.2 standard errors, no margin": _make_model().set_params(tolerance=1.2, margin=0),
    "no margin": _make_model().set_params(margin=0),
    "margin 0.15": _make_model().set_params(margin=0.15),
    "margin 0.5": _make_model().set_params(margin=0.5),
    "no smoothing": _make_model().set_params(smoothing=None),
    "smoothing 0.1": _make_model().set_params(smoothing=0.1),
    "smoothing 0.025": _make_model().set_params(smoothing=0.025),
    "bagging 10": _make_model().set_params(bagging=10, random_state=0),
}


def measure(case: Case, number: int, usps: Path | None) -> dict[str, float] | None:
    """Return the F1 of every variant on one split; None if the class is too small."""
    data = split(case, number, usps)
    if data is None:
        return None
    X = np.vstack([data.unlabelled, data.sample])
    y = np.repeat([0, 1], [len(data.unlabelled), len(data.sample)])
    found = {name: clone(model).fit_predict(X, y)[: len(data.truth)] for name, model in VARIANTS.items()}
    return {name: float(f1_score(data.truth, members)) for name, members in found.items()}


def main() -> None:
    """Measure, print the table, and write it if --docs is given."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="folder of the USPS digits; default: MOMENTLP_USPS")
    parser.add_argument("--docs", type=Path, help="folder to write defaults.md to")
    parser.add_argument("--labels", default="25,100")
    parser.add_argument("--splits", type=int, default=2)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    wanted = list(cases(list(TITLES), [int(label) for label in options.labels.split(",")]))
    work = [(case, FIRST_SPLIT + number) for case in wanted for number in range(options.splits)]
    try:
        found = Parallel(n_jobs=options.jobs, verbose=1)(delayed(measure)(*task, options.data) for task in work)
    except DataError as error:
        sys.exit(str(error))
    rows = []
    for name in VARIANTS:
        row = {"variant": name}
        for dataset, title in TITLES.items():
            scores = [f1[name] for (case, _), f1 in zip(work, found, strict=True) if f1 and case.dataset == dataset]
            row[title] = f"{np.mean(scores):.3f}"
        rows.append(row)
    page = f"""# One default changed at a time

`python -m benchmarks.classes.defaults --splits {options.splits}`: mean F1 over all classes, with
{options.labels.replace(",", " and ")} labels, on splits that [the benchmark of classes](classes.md) does not use.
The default has 16 components, 5 neighbours, a walk that stops with probability 0.02, columns divided by their range, a
tolerance of 2.5 standard errors, a margin of 0.3, and smoothing 0.05.

{format_markdown(rows)}
"""
    print(page)
    if options.docs:
        (options.docs / "defaults.md").write_text(page)


if __name__ == "__main__":
    main()

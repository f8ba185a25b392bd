"""The picture: F1 against the number of labels, one panel per data set, one line per method."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.classes.cases import DATASETS, TITLES
from benchmarks.classes.methods import METHODS, OURS
from benchmarks.classes.summary import Row, mean_over, rank_methods
from momentlp.plots import RED

__all__ = ["draw"]

# Okabe and Ito's colours, which colour-blind readers can distinguish; momentlp has the red of the other pictures.
COLOURS = {
    OURS: RED, "walk": "#000000", "walk-5": "#000000", "ocsvm": "#0072B2", "ocsvm-selected": "#0072B2", "forest": "#009E73",
    "forest-selected": "#009E73", "elkan-noto": "#CC79A7", "bagging": "#E69F00", "bagging-svc": "#E69F00", "nnpu": "#56B4E9",
}  # fmt: skip
DASHED = ("ocsvm", "forest", "bagging", "walk-5")  # the second of two similar methods
TICKS = (0.0, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98)
MAX_F1_SHOWN = 0.995


def draw(path: Path, rows: Sequence[Row]) -> None:
    """Draw the means over classes and save the picture. A mean is drawn only where all classes of its data set are in it."""
    from matplotlib.figure import Figure

    names = rank_methods(rows)
    panels = [dataset for dataset in DATASETS if _complete_labels(rows, dataset)]
    figure = Figure(figsize=(10.4, 5.4), layout="constrained")
    widths = [max(1, len(_complete_labels(rows, dataset)) - 0.6) for dataset in panels]
    axes = np.atleast_1d(figure.subplots(1, len(panels), sharey=True, width_ratios=widths))
    for number, (panel, dataset) in enumerate(zip(axes, panels, strict=True)):
        labels = _complete_labels(rows, dataset)
        for name in names:
            _draw_line(panel, name, labels, [_mean_f1(rows, dataset, n_known, name) for n_known in labels])
        _format_panel(panel, dataset, labels)
        panel.tick_params(axis="y", length=0 if number else 3)
    axes[0].set_ylabel("F1, mean over classes and splits")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=5, frameon=False, fontsize=9)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)


def _draw_line(panel: Any, name: str, labels: Sequence[int], means: Sequence[float]) -> None:
    ours, dashed = name == OURS, name in DASHED
    panel.plot(
        np.arange(len(labels)), means, color=COLOURS[name], label=METHODS[name].title, linestyle="--" if dashed else "-",
        linewidth=2.8 if ours else 1.4, marker="o", markersize=6 if ours else 4.5, zorder=4 if ours else 3,
        markerfacecolor="white" if dashed else COLOURS[name],
    )  # fmt: skip


def _format_panel(panel: Any, dataset: str, labels: Sequence[int]) -> None:
    """Set title, ticks and scale. The scale is stretched towards 1, where the good methods are."""
    panel.set_yscale("function", functions=(lambda f1: -np.log(1.02 - np.minimum(f1, 1)), lambda y: 1.02 - np.exp(-y)))
    panel.set_ylim(-0.03, MAX_F1_SHOWN)
    panel.set_yticks(TICKS, [f"{tick:g}" for tick in TICKS])
    panel.set_xticks(np.arange(len(labels)), [str(n_known) for n_known in labels])
    panel.set_xlim(-0.35, len(labels) - 0.65)
    panel.set_xlabel("known members")
    panel.set_title(TITLES[dataset], loc="left", fontsize=11)
    panel.grid(axis="y", color="#e8ebee", linewidth=0.6)
    panel.spines[["top", "right"]].set_visible(False)


def _complete_labels(rows: Sequence[Row], dataset: str) -> list[int]:
    """Return the numbers of labels for which every class of the data set has a row."""
    counts = [row.case.n_known for row in rows if row.case.dataset == dataset]
    return [n_known for n_known in sorted(set(counts)) if counts.count(n_known) == DATASETS[dataset]]


def _mean_f1(rows: Sequence[Row], dataset: str, n_known: int, name: str) -> float:
    chosen = [row for row in rows if (row.case.dataset, row.case.n_known) == (dataset, n_known)]
    return mean_over(chosen, name, lambda result: result.f1)

"""The picture: F1 against the number of labels, one panel for each half of the data sets, one line for each method."""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any

from benchmarks.classes.cases import CHOSEN_ON, LABELS, REPORTED_ON
from benchmarks.classes.methods import METHODS, OURS
from benchmarks.classes.summary import Row, mean_over_sets, rank_methods
from momentlp.plots import RED

__all__ = ["draw"]

N_NAMED = 7  # methods with a colour and a name: momentlp and the best; the others are grey
# Okabe and Ito's colours, which colour-blind readers can distinguish; momentlp has the red of the other pictures.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#000000")
GREY = "#c8ccd0"


def draw(path: Path, rows: Sequence[Row]) -> None:
    """Draw the means over data sets and save the picture."""
    from matplotlib.figure import Figure

    names = rank_methods(rows)
    figure = Figure(figsize=(10.4, 5.2), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    halves = (("data sets that nothing was chosen on", REPORTED_ON), ("data sets that settings were chosen on", CHOSEN_ON))
    for panel, (title, sets) in zip(panels, halves, strict=True):
        half = [row for row in rows if row.case.dataset in sets]
        for name in reversed(names):
            _draw_line(panel, names.index(name), name, half)
        panel.set_xticks(range(len(LABELS)), [str(n_known) for n_known in LABELS])
        panel.set_xlabel("labelled members")
        panel.set_title(title, loc="left", fontsize=11)
        panel.grid(axis="y", color="#e8ebee", linewidth=0.6)
        panel.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("F1, mean over data sets")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles[::-1], labels[::-1], loc="outside lower center", ncols=4, frameon=False, fontsize=9)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)


def _draw_line(panel: Any, place: int, name: str, rows: Sequence[Row]) -> None:
    means = [
        mean_over_sets([row for row in rows if row.case.n_known == n_known], name, attrgetter("f1")) for n_known in LABELS
    ]
    named, ours = place < N_NAMED, name == OURS
    label = METHODS[name].title if named else "other methods" if place == N_NAMED else "_hidden"
    colour = RED if ours else COLOURS[place - 1] if named else GREY
    points = [(x, mean) for x, mean in enumerate(means) if not math.isnan(mean)]
    panel.plot(
        [x for x, _ in points], [mean for _, mean in points], color=colour, label=label, linewidth=2.8 if ours else 1.5,
        marker="o", markersize=6 if ours else 4.5, zorder=4 if ours else 3 if named else 2,
    )  # fmt: skip

"""Draw growth as log-log plots: one line per peer, with its name at the beginning of the line instead of a legend."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common.peers import PEERS, REFERENCE
from momentlp.plots import GREY, RED, new_axes

__all__ = ["draw_growth"]

# Okabe and Ito's colours, which colour-blind readers can distinguish; momentlp has the red of the other pictures.
COLOURS = {
    REFERENCE: RED, "momentlp, highs": RED, "highspy": "#0072B2", "highspy, tuned": "#0072B2", "scipy linprog": "#56B4E9",
    "GLPK": "#000000", "Pyomo": "#009E73", "CVXPY": "#CC79A7", "linopy": "#E69F00", "OR-tools PDLP": "#7A5C99",
    "OneClassSVM": GREY,
}  # fmt: skip
DASHED = ("momentlp, highs", "highspy, tuned", "OneClassSVM")
MIN_NAME_DISTANCE = 0.047  # share of the height of the axes between two names
NAMES_WIDTH = 0.27  # share of the width that the column of names takes

Line = Sequence[tuple[float, float]]


def draw_growth(
    path: Path, lines: Mapping[str, Line], *, title: str, xlabel: str, ylabel: str, limit: float, foot: str
) -> None:
    """Draw seconds or bytes against size and save the picture.

    Parameters
    ----------
    path : Path
    lines : mapping of str to sequence of (float, float)
        Size and value of each point, by peer. A line ends at the last size that its peer solved.
    title : str
        What the picture shows, as a sentence.
    xlabel, ylabel : str
        With units.
    limit : float
        Where a peer is ended, drawn as a horizontal line; infinite for none.
    foot : str
        What a reader must know, the command that made the values, and the machine.
    """
    axes = new_axes(size=(8.6, 6.0), use_pyplot=False)
    axes.set(xscale="log", yscale="log", xlabel=xlabel, ylabel=ylabel)
    axes.set_title("\n".join(textwrap.wrap(title, 78)), loc="left", fontsize=11)
    for peer, line in lines.items():
        ours = peer == REFERENCE
        axes.plot(
            *zip(*line, strict=True), color=COLOURS[peer], linewidth=2.6 if ours else 1.3, zorder=4 if ours else 3,
            linestyle="--" if peer in DASHED else "-", marker="o", markersize=5 if ours else 3.5,
        )  # fmt: skip
    if np.isfinite(limit):
        axes.axhline(limit, color=GREY, linewidth=0.8, linestyle=":", zorder=1)
        axes.annotate(
            f"{limit:g} s: ended here", (0.01, limit), xycoords=("axes fraction", "data"), xytext=(0, 3),
            textcoords="offset points", fontsize=8, color="#5f6b76",
        )  # fmt: skip
    low, high = axes.get_ylim()
    axes.set_ylim(low / 1.6, high * 1.6)  # room for a name below the lowest line, and for the limit above the highest
    ticks = sorted({size for line in lines.values() for size, _ in line})
    axes.set_xticks(ticks, [_abbreviate(size) for size in ticks])
    axes.set_xticks([], minor=True)
    axes.yaxis.set_major_formatter("{x:,g}")
    axes.grid(which="major", color="#e8ebee", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    _name_lines(axes, lines)
    axes.figure.text(0.008, -0.01, "\n".join(textwrap.wrap(foot, 172)), fontsize=6.5, color="#5f6b76", va="top")
    path.parent.mkdir(parents=True, exist_ok=True)
    axes.figure.savefig(path, dpi=130, bbox_inches="tight", pad_inches=0.12)
    print(f"written: {path}")


def _name_lines(axes: Any, lines: Mapping[str, Line]) -> None:
    """Write the names in one column before the lines, as near to the first points as possible without overlap.

    All lines begin at the smallest size, in the order of the names, so the connecting lines never cross.
    """
    low, high = (np.log10(end) for end in axes.get_ylim())
    left, right = (np.log10(end) for end in axes.get_xlim())
    axes.set_xlim(10 ** (left - (right - left) * NAMES_WIDTH / (1 - NAMES_WIDTH)), 10**right)
    begins = {peer: line[0] for peer, line in lines.items()}
    order = sorted(begins, key=lambda peer: begins[peer][1])
    wanted = np.array([(np.log10(begins[peer][1]) - low) / (high - low) for peer in order])
    for peer, position in zip(order, _spread_positions(wanted), strict=True):
        axes.annotate(
            peer if PEERS[peer].same_problem else f"{peer} (other problem)", begins[peer],
            xytext=(NAMES_WIDTH, 0.03 + 0.94 * position),
            textcoords="axes fraction", ha="right", va="center", fontsize=9, color=COLOURS[peer],
            fontweight="bold" if peer == REFERENCE else "normal",
            arrowprops={
                "arrowstyle": "-", "color": COLOURS[peer], "linewidth": 0.6, "relpos": (1, 0.5), "shrinkA": 1, "shrinkB": 3,
            },
        )  # fmt: skip


def _abbreviate(size: float) -> str:
    for unit, letter in ((1e6, "M"), (1e3, "k")):
        if size >= unit and not size % (unit / 10):
            return f"{size / unit:g}{letter}"
    return f"{size:g}"


def _spread_positions(wanted: np.ndarray) -> np.ndarray:
    """Return the positions in [0, 1] nearest to ascending ones, MIN_NAME_DISTANCE apart.

    This is isotonic regression by pooling adjacent violators: names that are too close move together.
    """
    steps = MIN_NAME_DISTANCE * np.arange(wanted.size)
    pools: list[tuple[float, int]] = []
    for target in wanted - steps:
        mean, size = float(target), 1
        while pools and pools[-1][0] > mean:
            before, count = pools.pop()
            mean, size = (before * count + mean * size) / (count + size), count + size
        pools.append((mean, size))
    positions = np.concatenate([np.full(size, mean) for mean, size in pools])
    return np.clip(positions, 0.0, 1.0 - steps[-1]) + steps

"""One digit among scikit-learn's 1797, found from thirty of its kind through every backend, and a picture of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from momentlp.errors import ExtraMissingError, OptionError, SolverError
from momentlp.features import Spectral
from momentlp.plots import GREY, RED
from momentlp.points.arrays import FloatArray, IndexArray
from momentlp.runtime.atomic_files import write_atomically
from momentlp.solution.solution import Solution
from momentlp.solving.comparison import Comparison, compare
from momentlp.spec.spec import Spec
from momentlp.spec.tolerances import StandardError

__all__ = ["Demo", "check_picture", "draw", "run_demo"]

SPEC = Spec(features=Spectral(12, n_neighbors=6), tolerance=StandardError(0.5))
PER_ROW = 28
PICTURES = (".png", ".svg", ".pdf")


@dataclass(frozen=True, eq=False)
class Demo:
    """What the demo found. Truth is used for the counts alone, never for the search."""

    digit: int
    images: FloatArray
    truth: NDArray[np.bool_]
    labelled: IndexArray
    comparison: Comparison
    solution: Solution

    @property
    def unlabelled(self) -> NDArray[np.bool_]:
        """The points that had to be found."""
        mask = np.ones(self.truth.size, dtype=bool)
        mask[self.labelled] = False
        return mask

    @property
    def found(self) -> NDArray[np.bool_]:
        """The unlabelled points with a membership above one half."""
        return (self.solution.membership > 0.5) & self.unlabelled

    @property
    def counts(self) -> dict[str, Any]:
        """How many were found, rightly and wrongly, and missed."""
        right = int((self.found & self.truth).sum())
        total = int((self.truth & self.unlabelled).sum())
        return {
            "digit": self.digit,
            "points": int(self.truth.size),
            "labelled": int(self.labelled.size),
            "found": int(self.found.sum()),
            "right": right,
            "wrong": int(self.found.sum()) - right,
            "missed": total - right,
            "precision": right / max(1, int(self.found.sum())),
            "recall": right / max(1, total),
        }


def run_demo(
    digit: int = 3, n_labelled: int = 30, random_state: int = 0, on_start: Callable[[str], Any] | None = None
) -> Demo:
    """Find a digit from a few labelled ones, by smooth functions on the graph of nearest neighbours."""
    from sklearn.datasets import load_digits

    data = load_digits()
    truth = data.target == digit
    if digit not in range(10):
        raise OptionError(f"digit must be one of 0 to 9, not {digit!r}.")
    if not 2 <= n_labelled < int(truth.sum()):
        raise OptionError(f"labelled must be between 2 and {int(truth.sum()) - 1}, not {n_labelled}.")
    labelled = np.sort(np.random.default_rng(random_state).choice(np.flatnonzero(truth), n_labelled, replace=False))
    comparison = compare(SPEC.compile(data.data, labelled=labelled), on_start=on_start)
    if not comparison.solutions:
        raise SolverError("; ".join(f"{row['backend']}: {row['message']}" for row in comparison))
    best = max(
        comparison.solutions.values(), key=lambda solution: (solution.certificate.holds(), solution.backend == "highs")
    )
    return Demo(digit, data.images, truth, labelled, comparison, best)


def draw(demo: Demo, path: Path) -> None:
    """Draw what was known, what was found and the hyperplane between, as a PNG or SVG."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
        from matplotlib.patches import Rectangle
    except ImportError:
        raise ExtraMissingError("drawing needs matplotlib: run pip install 'momentlp[plot]'.") from None
    order = np.argsort(-demo.solution.scores, kind="stable")
    found = order[demo.found[order]]
    missed = order[(demo.truth & demo.unlabelled & ~demo.found)[order]]
    heights = [_rows(found), _rows(missed)]
    figure: Any = Figure(figsize=(11, 4.3 + 0.42 * sum(heights)), layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    top, bottom = figure.subfigures(2, 1, height_ratios=[3.4, 0.9 + 0.42 * sum(heights)])
    known, scores = top.subplots(1, 2, width_ratios=[1, 2.1])
    upper, lower = bottom.subplots(2, 1, height_ratios=heights)
    wrong = int((~demo.truth[found]).sum())
    _draw_tiles(known, demo.images[demo.labelled], 6, f"Known: {demo.labelled.size} images of a {demo.digit}")
    _draw_scores(scores, demo)
    _draw_tiles(upper, demo.images[found], PER_ROW, f"Found: {found.size} more, best first; {wrong} of them wrong (framed)")
    _draw_tiles(lower, demo.images[missed], PER_ROW, f"Missed: {missed.size}, nearest first")
    for place in np.flatnonzero(~demo.truth[found]):
        row, column = divmod(int(place), PER_ROW)
        upper.add_patch(Rectangle((column * 9 - 0.5, row * 9 - 0.5), 10, 10, fill=False, edgecolor=RED, linewidth=1.6))
    write_atomically(path, lambda stream: figure.savefig(stream, format=path.suffix.lstrip(".").lower(), dpi=130))


def check_picture(path: Path) -> None:
    """Refuse the name of a picture that could not be drawn, before any work is done."""
    if path.suffix.lower() not in PICTURES:
        raise OptionError(f"picture must end in {', '.join(PICTURES)}, but it is {str(path)!r}.")
    if not path.parent.is_dir():
        raise OptionError(f"picture is to be drawn to {str(path)!r}, but there is no folder {str(path.parent)!r}.")


def _draw_tiles(axes: Any, images: FloatArray, per_row: int, title: str) -> None:
    """Lay 8 x 8 images out in rows, one white pixel between them."""
    sheet = np.zeros((_rows(images, per_row) * 9 + 1, per_row * 9 + 1))
    for place, image in enumerate(images):
        row, column = divmod(place, per_row)
        sheet[row * 9 + 1 : row * 9 + 9, column * 9 + 1 : column * 9 + 9] = image
    axes.imshow(sheet, cmap="gray_r", vmin=0, vmax=16)
    axes.set_title(title, loc="left", fontsize=11)
    axes.set_axis_off()


def _rows(images: NDArray[Any], per_row: int = PER_ROW) -> int:
    return max(1, -(-len(images) // per_row))


def _draw_scores(axes: Any, demo: Demo) -> None:
    tie = np.abs(demo.solution.scores) < 1e-9  # on the hyperplane rounding decides the sign; draw them where they were put
    scores = np.where(tie, np.where(demo.solution.membership > 0.5, 1e-9, -1e-9), demo.solution.scores)
    own, other = scores[demo.truth & demo.unlabelled], scores[~demo.truth]
    width = max(float(np.ptp(scores)), 1.0) / 60
    edges = width * np.arange(np.floor(scores.min() / width), np.ceil(scores.max() / width) + 1)  # one edge lies at zero
    axes.hist(other, edges, color=GREY, label="other digits")
    axes.hist(own, edges, color=RED, alpha=0.85, label=f"{demo.digit}s not labelled")
    axes.axvline(0, color="black", linewidth=1.2)
    axes.set_yscale("log")
    axes.set_ylim(0.8, 4 * axes.get_ylim()[1])
    for word, side, offset in (("out", "right", -8), ("in", "left", 8)):
        place = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points"}
        axes.annotate(word, (0, 1), (offset, -6), ha=side, va="top", **place)
    axes.set_title("Score of every unlabelled image; the hyperplane is at zero", loc="left", fontsize=11)
    axes.set_xlabel("score: how far on the side of the class", fontsize=9)
    axes.set_ylabel("images", fontsize=9)
    axes.legend(frameon=False, fontsize=9, loc="upper left")
    axes.spines[["top", "right"]].set_visible(False)

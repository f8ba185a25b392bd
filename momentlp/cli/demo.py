"""The demo: find one digit among scikit-learn's 1797 images from thirty labelled ones, and draw the result."""

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
from momentlp.runtime.argument_checks import check_integer
from momentlp.runtime.atomic_files import write_atomically
from momentlp.solution.solution import Solution
from momentlp.solving.comparison import Comparison, compare
from momentlp.spec.spec import Spec
from momentlp.spec.tolerances import StandardError

__all__ = ["Demo", "check_picture", "draw", "run_demo"]

SPEC = Spec(features=Spectral(12, n_neighbors=6), tolerance=StandardError(0.5))
IMAGES_PER_ROW = 28
PICTURE_SUFFIXES = (".png", ".svg", ".pdf")


@dataclass(frozen=True, eq=False)
class Demo:
    """What the demo found. The truth is used for the counts only, never for the search."""

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
        """How many were found, right, wrong and missed."""
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
    """Find a digit from a few labelled images, by smooth functions on the graph of nearest neighbours."""
    from sklearn.datasets import load_digits

    data = load_digits()
    truth = data.target == digit
    check_integer("digit", digit, minimum=0, maximum=9)
    check_integer("labelled", n_labelled, minimum=2, maximum=int(truth.sum()) - 1)
    labelled = np.sort(np.random.default_rng(random_state).choice(np.flatnonzero(truth), n_labelled, replace=False))
    comparison = compare(SPEC.compile(data.data, labelled=labelled), on_start=on_start)
    if not comparison.solutions:
        raise SolverError("; ".join(f"{row['backend']}: {row['message']}" for row in comparison))
    best = max(
        comparison.solutions.values(), key=lambda solution: (solution.certificate.holds(), solution.backend == "highs")
    )
    return Demo(digit, data.images, truth, labelled, comparison, best)


def draw(demo: Demo, path: Path) -> None:
    """Draw the labelled images, the scores with the hyperplane, and what was found and missed."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
        from matplotlib.patches import Rectangle
    except ImportError:
        raise ExtraMissingError("drawing needs matplotlib: run pip install 'momentlp[plot]'.") from None
    order = np.argsort(-demo.solution.scores, kind="stable")
    found = order[demo.found[order]]
    missed = order[(demo.truth & demo.unlabelled & ~demo.found)[order]]
    heights = [_count_rows(found), _count_rows(missed)]
    figure: Any = Figure(figsize=(11, 4.3 + 0.42 * sum(heights)), layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    top, bottom = figure.subfigures(2, 1, height_ratios=[3.4, 0.9 + 0.42 * sum(heights)])
    known, scores = top.subplots(1, 2, width_ratios=[1, 2.1])
    upper, lower = bottom.subplots(2, 1, height_ratios=heights)
    wrong = int((~demo.truth[found]).sum())
    _draw_tiles(known, demo.images[demo.labelled], 6, f"Known: {demo.labelled.size} images of a {demo.digit}")
    _draw_scores(scores, demo)
    _draw_tiles(
        upper, demo.images[found], IMAGES_PER_ROW, f"Found: {found.size} more, best first; {wrong} of them wrong (framed)"
    )
    _draw_tiles(lower, demo.images[missed], IMAGES_PER_ROW, f"Missed: {missed.size}, nearest first")
    for position in np.flatnonzero(~demo.truth[found]):
        row, column = divmod(int(position), IMAGES_PER_ROW)
        upper.add_patch(Rectangle((column * 9 - 0.5, row * 9 - 0.5), 10, 10, fill=False, edgecolor=RED, linewidth=1.6))
    write_atomically(path, lambda stream: figure.savefig(stream, format=path.suffix.lstrip(".").lower(), dpi=130))


def check_picture(path: Path) -> None:
    """Raise OptionError, before any work is done, if a picture cannot be written to a path."""
    if path.suffix.lower() not in PICTURE_SUFFIXES:
        raise OptionError(f"picture must end in {', '.join(PICTURE_SUFFIXES)}, not {str(path)!r}.")
    if not path.parent.is_dir():
        raise OptionError(f"the folder of picture {str(path)!r} does not exist: create it, or choose another.")


def _draw_tiles(axes: Any, images: FloatArray, per_row: int, title: str) -> None:
    """Lay 8 x 8 images out in rows, one white pixel between them."""
    sheet = np.zeros((_count_rows(images, per_row) * 9 + 1, per_row * 9 + 1))
    for position, image in enumerate(images):
        row, column = divmod(position, per_row)
        sheet[row * 9 + 1 : row * 9 + 9, column * 9 + 1 : column * 9 + 9] = image
    axes.imshow(sheet, cmap="gray_r", vmin=0, vmax=16)
    axes.set_title(title, loc="left", fontsize=11)
    axes.set_axis_off()


def _count_rows(images: NDArray[Any], per_row: int = IMAGES_PER_ROW) -> int:
    return max(1, -(-len(images) // per_row))


def _draw_scores(axes: Any, demo: Demo) -> None:
    tie = np.abs(demo.solution.scores) < 1e-9  # rounding decides the sign: draw them on their side
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
        coordinates = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points"}
        axes.annotate(word, (0, 1), (offset, -6), ha=side, va="top", **coordinates)
    axes.set_title("Score of every unlabelled image; the hyperplane is at zero", loc="left", fontsize=11)
    axes.set_xlabel("score: how far on the side of the class", fontsize=9)
    axes.set_ylabel("images", fontsize=9)
    axes.legend(frameon=False, fontsize=9, loc="upper left")
    axes.spines[["top", "right"]].set_visible(False)

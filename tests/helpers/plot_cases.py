"""Fitted models for the tests of plots, and what can be read from axes."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

import momentlp as mlp
from momentlp.datasets.synthetic import make_gaussian

CASE = make_gaussian(0)
MARKS = np.isin(np.arange(len(CASE.X)), CASE.labelled).astype(int)
WIDE = np.column_stack([CASE.X, CASE.X @ [0.5, -1.0] + np.random.default_rng(0).normal(size=len(CASE.X)), CASE.X[:, 0] ** 2])
OUTLIERS = np.vstack([np.random.default_rng(0).normal(size=(95, 2)), np.random.default_rng(1).uniform(6, 9, size=(5, 2))])


@cache
def plane_model() -> mlp.MomentClassifier:
    return mlp.MomentClassifier("quadratic", 1.0).fit(CASE.X, MARKS)


@cache
def wide_model() -> mlp.MomentClassifier:
    return mlp.MomentClassifier("linear", 1.0).fit(WIDE, MARKS)


@cache
def detector() -> mlp.MomentOutlierDetector:
    return mlp.MomentOutlierDetector(contamination=0.05).fit(OUTLIERS)


@cache
def cv_model() -> mlp.MomentClassifierCV:
    maps = ["linear", mlp.Kernel(gamma=0.1, landmarks=9), mlp.Kernel(gamma=0.5, landmarks=9)]
    return mlp.MomentClassifierCV(maps, tolerances=(0.5, 1.0, 2.0), cv=3, random_state=0).fit(CASE.X, MARKS)


@cache
def tolerance_path() -> mlp.Path:
    problem = mlp.Spec(features=mlp.Quadratic(), tolerance=mlp.Absolute(1.0)).compile(CASE.X, labelled=CASE.labelled)
    return mlp.path(problem, [100.0, 30.0, 10.0, 3.0])


def legend_texts(axes: Any) -> list[str]:
    return [text.get_text() for text in axes.get_legend().get_texts()]


def count_points(axes: Any) -> int:
    """Return the number of points that are scattered over the axes."""
    return sum(len(points.get_offsets()) for points in axes.collections if points.get_label()[:1] != "_")


def count_in_bars(axes: Any) -> float:
    """Return the number of points in the bars of a histogram."""
    return sum(bar.get_height() for bar in axes.patches)

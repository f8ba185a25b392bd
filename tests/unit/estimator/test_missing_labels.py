"""None and NaN in y mark unlabelled points; missing values and words in X raise an error that shows a pipeline."""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from helpers.clouds import clouds

import momentlp as mlp
from momentlp.estimator.table_errors import PIPELINE

X, truth, y = clouds()


@pytest.mark.parametrize(
    ("labels", "classes", "member"),
    [
        (np.where(y == 1, 1.0, np.nan), [0, 1], 1),
        ([1 if label else None for label in y], [0, 1], 1),
        (np.where(y == 1, -3.0, np.nan), [-3, 0], -3),
        (np.where(y == 1, 0.0, np.nan), [-1, 0], 0),
        ([True if label else None for label in y], [False, True], True),
        (["spam" if label else None for label in y], ["not spam", "spam"], "spam"),
        (pd.Series(["spam" if label else pd.NA for label in y]), ["not spam", "spam"], "spam"),
        (pd.Series(y).astype("Int64").where(y == 1), [0, 1], 1),
        (["ant" if label else float("nan") for label in y], ["ant", "not ant"], "ant"),
        (pd.DataFrame({"label": np.where(y == 1, 1.0, np.nan)}), [0, 1], 1),
    ],
)
def test_missing_labels_mark_unlabelled_points(labels: Any, classes: list[Any], member: Any) -> None:
    model = mlp.MomentClassifier("linear").fit(X, labels)
    assert model.classes_.tolist() == classes
    assert model.pos_label_ == member
    assert np.array_equal(model.transduction_ == member, mlp.MomentClassifier("linear").fit(X, y).transduction_ == 1)


def test_known_outsiders_beside_missing_labels_have_a_place_of_their_own() -> None:
    labels = np.where(y == 1, 1.0, np.nan)
    labels[:3] = 0.0
    with pytest.raises(mlp.DataError, match=r"2 other values.*constraints=\[momentlp.Known\(negatives=rows\)\]"):
        mlp.MomentClassifier("linear").fit(X, labels)


def test_labels_that_are_all_missing_raise() -> None:
    with pytest.raises(ValueError, match="NaN"):
        mlp.MomentClassifier("linear").fit(X, np.full(len(X), np.nan))


def test_a_table_with_gaps_and_words_raises_an_error_that_shows_the_pipeline() -> None:
    table = pd.DataFrame({"height": X[:, 0], "width": X[:, 1], "colour": np.where(truth, "red", "blue")})
    table.loc[3, "width"] = np.nan
    with pytest.raises(mlp.DataError, match=r"missing values in column 'width' and words or dates in column 'colour'"):
        mlp.MomentClassifier("linear").fit(table, y)
    with pytest.raises(mlp.DataError, match=r"X holds missing values in column 1\. "):
        mlp.MomentClassifier("linear").fit(table[["height", "width"]].to_numpy(), y)


@pytest.mark.parametrize("kind", [sp.csr_array, sp.lil_array, sp.dok_array])
def test_gaps_in_a_sparse_matrix_are_named(kind: Any) -> None:
    broken = X.copy()
    broken[3, 1] = np.nan
    with pytest.raises(mlp.DataError, match=r"X holds missing values in column 1\. "):
        mlp.MomentClassifier("linear").fit(kind(broken), y)


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ([pd.NA, *[1.0] * 149], "missing values in column 'a'"),
        (pd.date_range("2020-01-01", periods=150), "dates in column 'a'"),
    ],
)
def test_what_numpy_cannot_convert_is_named(column: Any, message: str) -> None:
    with pytest.raises(mlp.DataError, match=message):
        mlp.MomentClassifier("linear").fit(pd.DataFrame({"a": column, "b": X[:, 0]}), y)


def test_numbers_as_text_are_not_blamed_for_another_error() -> None:
    with pytest.raises(ValueError, match=r"^Found input variables with inconsistent numbers of samples"):
        mlp.MomentClassifier("linear").fit(X.astype(str), y[:-1])


def test_the_pipeline_of_the_error_works() -> None:
    table = pd.DataFrame({"height": X[:, 0], "width": X[:, 1], "colour": np.where(truth, "red", "blue")})
    table.loc[3, "width"] = np.nan
    scope: dict[str, Any] = {"table": table, "y": y}
    exec(textwrap.dedent(PIPELINE), scope)
    assert np.mean((scope["model"][-1].transduction_ == 1) == truth) > 0.8


def test_texts_are_answered_with_how_to_count_their_words() -> None:
    with pytest.raises(mlp.DataError, match="TfidfVectorizer"):
        mlp.MomentClassifier().fit(["a cat", "a dog", "a bird"], [1, 1, 0])


def test_the_error_about_a_table_quotes_one_line_of_scikit_learn() -> None:
    gaps = X.copy()
    gaps[0, 0] = np.nan
    with pytest.raises(mlp.DataError) as raised:
        mlp.MomentClassifier().fit(gaps, y)
    assert "HistGradientBoosting" not in str(raised.value)
    assert "Input X contains NaN" in str(raised.value)

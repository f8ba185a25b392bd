"""What to do with a table that holds missing values or categories: the error that shows the pipeline."""

from __future__ import annotations

from typing import Any

import numpy as np

from momentlp.errors import DataError
from momentlp.estimator.missing_labels import is_missing
from momentlp.points.arrays import is_sparse

__all__ = ["explain_table_error"]

MAX_SHOWN = 5  # columns that a message names
PIPELINE = """
    import momentlp
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder
    numbers = (SimpleImputer(strategy="median", add_indicator=True), make_column_selector(dtype_include="number"))
    words = (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_exclude="number"))
    model = make_pipeline(make_column_transformer(numbers, words), momentlp.MomentClassifier())
    model.fit(table, y)  # then model.predict(new_table)"""


def explain_table_error(X: Any, error: TypeError | ValueError) -> TypeError | ValueError:
    """Return an error that says which columns hold missing values or words, and how to prepare them.

    Parameters
    ----------
    X : array, frame or sparse matrix
        What could not be read.
    error : TypeError or ValueError
        What scikit-learn says. It is returned as it is if neither is the reason.
    """
    if _holds_documents(X):
        return DataError(
            "X holds texts. The features need numbers. Count words first, for instance with scikit-learn's "
            "TfidfVectorizer: X = TfidfVectorizer().fit_transform(texts)."
        )
    missing, words = _find_columns(X)
    if not missing and not words:
        return error
    found = [
        f"{what} in {_list(columns)}"
        for what, columns in (("missing values", missing), ("words or dates", words))
        if columns
    ]
    return DataError(
        f"X holds {' and '.join(found)}. The features need numbers. Fill in what is missing, and turn words into columns "
        f"of 0 and 1, for instance with this pipeline, where table is a pandas DataFrame:\n{PIPELINE}\n\n"
        f"(scikit-learn says: {str(error).splitlines()[0]})"
    )


def _holds_documents(X: Any) -> bool:
    """Return whether X is one sequence of texts."""
    if is_sparse(X) or hasattr(X, "columns") or not hasattr(X, "__len__") or not len(X):
        return False
    first = next(iter(X), None) if not isinstance(X, str) else X
    return isinstance(first, str) and _classify(first) == "word"


def _find_columns(X: Any) -> tuple[list[str], list[str]]:
    """Return the columns with missing values, and those with words."""
    if is_sparse(X):
        entries = X.tocoo()
        gaps = np.unique(entries.col[np.isnan(np.asarray(entries.data, dtype=np.float64))])
        return [f"column {number}" for number in gaps.tolist()], []
    if hasattr(X, "columns") and hasattr(X, "to_numpy"):
        columns = [(f"column {str(name)!r}", X[name].to_numpy()) for name in X.columns]
    else:
        table = np.asarray(X)
        if table.ndim != 2 or table.dtype.kind not in "fOUS":
            return [], []
        columns = [(f"column {number}", table[:, number]) for number in range(table.shape[1])]
    missing, words = [], []
    for name, values in columns:
        flags = [_classify(value) for value in values] if values.dtype.kind in "OUS" else []
        if "word" in flags or values.dtype.kind in "mM":
            words.append(name)
        if "missing" in flags or (values.dtype.kind == "f" and np.isnan(values).any()):
            missing.append(name)
    return missing, words


def _classify(value: Any) -> str:
    if is_missing(value):
        return "missing"
    if isinstance(value, str | bytes):
        try:
            float(value)
        except ValueError:
            return "word"
    return "number"


def _list(columns: list[str]) -> str:
    left = len(columns) - MAX_SHOWN
    return ", ".join(columns[:MAX_SHOWN]) + (f" and {left} more" if left > 0 else "")

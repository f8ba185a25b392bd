"""What a fit says while it runs, and at which line its warnings point."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import momentlp as mlp
from momentlp.errors import CompileError, DataError, DoubtfulResultWarning, OptionError
from momentlp.runtime.steps import report_step, show_steps

random = np.random.default_rng(0)
X = np.vstack([random.normal(size=(60, 3)), random.normal(4.0, 1.0, size=(60, 3))])
y = np.isin(np.arange(120), np.arange(30)).astype(int)


def test_each_step_is_reported_once(capsys: pytest.CaptureFixture[str]) -> None:
    mlp.MomentClassifier(verbose=True).fit(X, y)
    lines = capsys.readouterr().err.splitlines()
    assert all(line.startswith("[momentlp]") for line in lines)
    for step in ("trees", "svm", "logistic"):
        assert sum(f"training {step}" in line for line in lines) == 1
    assert sum("solving the linear program of 120 points" in line for line in lines) == 1
    assert "120 points with 3 columns, 30 of them labelled" in lines[0]
    assert "done" in lines[-1]


def test_a_fit_is_silent_unless_asked(capsys: pytest.CaptureFixture[str]) -> None:
    mlp.MomentClassifier().fit(X, y)
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "")


def test_steps_end_with_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(RuntimeError), show_steps(True):
        raise RuntimeError
    report_step("unheard")
    assert capsys.readouterr().err == ""


def test_verbose_is_checked() -> None:
    with pytest.raises(OptionError, match="verbose must be True or False, not 'yes'"):
        mlp.MomentClassifier(verbose="yes").fit(X, y)  # type: ignore[arg-type]


@pytest.mark.parametrize("method", ["fit", "fit_predict"])
def test_a_warning_points_at_the_line_of_the_caller(method: str) -> None:
    noise = np.random.default_rng(0).normal(size=(60, 30))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        getattr(mlp.MomentClassifier(), method)(noise, np.isin(np.arange(60), np.arange(5)).astype(int))
    doubts = [entry for entry in caught if issubclass(entry.category, DoubtfulResultWarning)]
    assert doubts
    assert {entry.filename for entry in doubts} == {__file__}


def test_prediction_names_the_columns_with_missing_values() -> None:
    model = mlp.MomentClassifier("linear").fit(X, y)
    gaps = X.copy()
    gaps[3, 1] = np.nan
    with pytest.raises(DataError, match="X holds missing values in column 1"):
        model.predict(gaps)


def test_weights_that_sum_to_one_are_refused_with_a_reason() -> None:
    with pytest.raises(CompileError, match="weights must not be scaled to a sum of 1"):
        mlp.MomentClassifier().fit(X, y, np.full(120, 1 / 120))


def test_labelled_rows_without_weight_are_refused_with_a_reason() -> None:
    with pytest.raises(DataError, match=r"whose sample_weight is above 0 have the same label, 0: there are no labelled"):
        mlp.MomentClassifier().fit(X, y, np.where(y == 1, 0.0, 1.0))


def test_importance_says_how_far_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    model = mlp.MomentClassifier(verbose=True).fit(X, y)
    capsys.readouterr()
    model.importance(n_repeats=1)
    assert "shuffling column 1 of 3" in capsys.readouterr().err


def test_importance_takes_the_names_that_a_pipeline_lost() -> None:
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=["height", "weight", "age"])
    pipeline = make_pipeline(StandardScaler(), mlp.MomentClassifier()).fit(frame, y)
    table = pipeline[-1].importance(n_repeats=1, names=pipeline[:-1].get_feature_names_out())
    assert set(table.names) == {"height", "weight", "age"}
    with pytest.raises(DataError, match="names must hold 3 names, one per column of X, not 2"):
        pipeline[-1].importance(names=["a", "b"])


def test_doubts_are_heard_where_half_of_the_rows_are_labelled() -> None:
    alike = np.random.default_rng(1).normal(size=(60, 3))
    with pytest.warns(DoubtfulResultWarning) as caught:
        mlp.MomentClassifier().fit(alike, np.arange(60) % 2)
    assert any("nearly all unlabelled points were found" in str(each.message) for each in caught)


def test_one_labelled_point_is_told_what_is_missing() -> None:
    with pytest.raises(CompileError, match="at least two labelled points are needed"):
        mlp.MomentClassifier().fit(X, np.arange(120) == 3)

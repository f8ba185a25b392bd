"""Files of problems: a loaded problem equals the saved one, and unusable files are refused."""

from __future__ import annotations

import io
import tempfile
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers.same_problem import same_problem
from helpers.sample_problems import PROBLEMS
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import momentlp as mlp
from momentlp.formats.container import compute_digest


def test_a_loaded_problem_equals_the_saved_one(problem: mlp.Problem, tmp_path: Path) -> None:
    problem.save(tmp_path / "problem.npz")
    loaded = mlp.Problem.load(tmp_path / "problem.npz")
    assert same_problem(problem, loaded)
    assert np.array_equal(mlp.solve(problem).membership, mlp.solve(loaded).membership)


def test_a_loaded_problem_still_separates_new_points(tmp_path: Path) -> None:
    problem = PROBLEMS["absolute"]()
    problem.save(tmp_path / "problem.npz")
    new = pd.DataFrame(np.random.default_rng(9).normal(size=(5, 3)), columns=["a", "b b", "c"])
    scores = [mlp.solve(p).separator.decision_function(new) for p in (problem, mlp.Problem.load(tmp_path / "problem.npz"))]
    assert np.array_equal(*scores)


@given(
    hnp.arrays(np.float64, st.tuples(st.integers(1, 6), st.integers(1, 4)), elements=st.floats(-1e6, 1e6)),
    st.floats(0, 1e3),
)
def test_any_problem_survives_saving(X: np.ndarray, eps: float) -> None:
    problem = mlp.Spec(tolerance=mlp.Absolute(eps)).compile(X, labelled=[0])
    with tempfile.TemporaryDirectory() as folder:
        problem.save(Path(folder) / "any.npz")
        assert same_problem(problem, mlp.Problem.load(Path(folder) / "any.npz"))


def test_pickles_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "evil.npz"
    np.savez(path, header=np.array([print], dtype=object), allow_pickle=True)
    with pytest.raises(mlp.FileFormatError, match=r"evil\.npz"):
        mlp.Problem.load(path)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 0.999])
def test_a_file_cut_short_is_refused(tmp_path: Path, share: float) -> None:
    path = tmp_path / "problem.npz"
    PROBLEMS["sparse"]().save(path)
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    with pytest.raises(mlp.FileFormatError):
        mlp.Problem.load(path)


def test_a_file_without_one_of_its_arrays_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "problem.npz"
    PROBLEMS["relative"]().save(path)
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    for missing in members:
        with zipfile.ZipFile(path, "w") as archive:
            for name, content in members.items():
                if name != missing:
                    archive.writestr(name, content)
        with pytest.raises(mlp.FileFormatError):
            mlp.Problem.load(path)


def test_arrays_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "problem.npz"
    PROBLEMS["absolute"]().save(path)
    with np.load(path) as archive:
        arrays = dict(archive)
    for key, wrong in (
        ("caps", np.ones(3)),
        ("block0.lower", np.full(3, np.nan)),
        ("block0.features", np.full((30, 3), np.nan)),
    ):
        changed = {name: array for name, array in arrays.items() if name != "digest"} | {key: wrong}
        np.savez(path, **changed, digest=compute_digest(changed))  # with a digest that fits, as after a change on purpose
        with pytest.raises(mlp.FileFormatError, match="finite matrix" if "features" in key else key.rpartition(".")[2]):
            mlp.Problem.load(path)


def test_a_problem_with_strange_names_survives_saving(tmp_path: Path) -> None:
    names = ["a" * 100_000, "\ud800", "é\n", ""]
    problem = mlp.Problem.from_arrays(np.ones((2, 4)), 0.0, 1.0, names=names)
    problem.save(tmp_path / "problem.npz")
    assert same_problem(problem, mlp.Problem.load(tmp_path / "problem.npz"))


def test_a_file_of_a_later_version_is_refused_with_its_version(tmp_path: Path) -> None:
    path = tmp_path / "problem.npz"
    PROBLEMS["absolute"]().save(path)
    with np.load(path) as archive:
        arrays = dict(archive)
    later = arrays["header"].tobytes().replace(b'"version": 1', b'"version": 9')
    np.savez(path, **{**arrays, "header": np.frombuffer(later, dtype=np.uint8)})
    with pytest.raises(mlp.FileFormatError, match="format version 9"):
        mlp.Problem.load(path)


@pytest.mark.parametrize("content", [b"", b"PK", b"not a zip at all", b"\x93NUMPY"])
def test_other_files_are_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.npz").write_bytes(content)
    with pytest.raises(mlp.FileFormatError):
        mlp.Problem.load(tmp_path / "x.npz")


def test_a_missing_problem_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(mlp.FileFormatError, match="no file"):
        mlp.Problem.load(tmp_path / "none.npz")


def test_a_failed_save_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "problem.npz"
    PROBLEMS["absolute"]().save(path)
    before = path.read_bytes()

    def fail(stream: io.BytesIO, **_: object) -> None:
        stream.write(b"half")
        raise OSError("disk full")

    monkeypatch.setattr(np, "savez", fail)
    with pytest.raises(OSError, match="disk full"):
        PROBLEMS["relative"]().save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]

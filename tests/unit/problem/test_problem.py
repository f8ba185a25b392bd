"""Problems: the matrix they stand for, and what survives a trip to disk."""

from __future__ import annotations

import io
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import highspy
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import swiglpk
from helpers.same_problem import same_problem
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.sparse.linalg import aslinearoperator

import momentlp as mlp
from momentlp.formats.container import compute_digest
from momentlp.points.arrays import is_sparse


def frame() -> pd.DataFrame:
    return pd.DataFrame(np.random.default_rng(0).normal(size=(30, 3)), columns=["a", "b b", "c"])


def sparse_points() -> sp.csr_array:
    return sp.random_array((40, 6), density=0.2, rng=np.random.default_rng(1), format="csr")


PROBLEMS: dict[str, Callable[[], mlp.Problem]] = {
    "absolute": lambda: mlp.Spec(tolerance=mlp.Absolute(2.0)).compile(frame(), labelled=range(5)),
    "relative": lambda: mlp.Spec(tolerance=mlp.Relative([0.3, 0.0, 0.2])).compile(frame(), labelled=range(8)),
    "float32": lambda: mlp.Spec(tolerance=mlp.Absolute(1.0)).compile(frame().to_numpy(np.float32), labelled=range(8)),
    "sparse": lambda: mlp.Spec(tolerance=mlp.Absolute(0.3)).compile(sparse_points(), labelled=range(8)),
    "sparse relative": lambda: mlp.Spec(tolerance=mlp.Relative(0.05)).compile(sparse_points(), labelled=range(8)),
    "arrays": lambda: mlp.Problem.from_arrays(
        frame(), [-1, -np.inf, 0], [1, 2, np.inf], weights=np.arange(1, 31), caps=np.linspace(0, 2, 30)
    ),
    "two blocks": lambda: (
        mlp.Spec(tolerance=mlp.Absolute(1.0))
        .compile(sparse_points(), labelled=range(8))
        .with_block(mlp.Problem.from_arrays(np.arange(40.0)[:, None], -np.inf, 300.0, names=["rank"]).blocks[0])
    ),
}


@pytest.fixture(params=PROBLEMS)
def problem(request: pytest.FixtureRequest) -> mlp.Problem:
    return PROBLEMS[request.param]()


def test_the_operator_is_the_matrix(problem: mlp.Problem) -> None:
    random = np.random.default_rng(3)
    A = np.asarray(problem.A)
    y, h = random.normal(size=problem.n_moments), random.uniform(size=problem.n_points)
    assert A.shape == problem.A.shape == (problem.n_points, problem.n_moments)
    assert np.allclose(problem.A @ y, A @ y)
    assert np.allclose(problem.A.T @ h, A.T @ h)
    assert np.allclose(h @ problem.A, A.T @ h)
    assert np.allclose(problem.A @ np.column_stack([y, -y]), A @ np.column_stack([y, -y]))
    assert np.allclose(aslinearoperator(problem.A).rmatvec(h), A.T @ h)
    with pytest.raises(mlp.DataError, match=r"A\.T @ h needs a vector of length"):
        problem.A.T @ h[:-1]
    assert np.allclose(problem.A.rows(np.array([3, 1])), A[[3, 1]])
    assert np.allclose(problem.A.per_moment("magnitude", h), np.abs(A).T @ h) or any(
        is_sparse(b.features) for b in problem.blocks
    )


def test_the_linear_program_is_the_problem(problem: mlp.Problem) -> None:
    """With the count substituted back, every row of the program is a column of A."""
    program = problem.linear_program()
    M = program.matrix.toarray()
    N, m = problem.n_points, problem.n_moments
    rows = M[:m, :N] + (M[:m, N:] if program.has_size_column else 0)
    assert np.allclose(rows, problem.A.toarray().T)
    assert np.array_equal(program.row_lower[:m], problem.lower)
    assert np.array_equal(program.row_upper[:m], problem.upper)
    assert program.matrix.nnz == np.count_nonzero(program.matrix.data)


def test_sparse_stays_sparse() -> None:
    X = sp.random_array((4000, 500), density=0.004, rng=np.random.default_rng(0), format="csr")
    problem = mlp.Spec(tolerance=mlp.Absolute(0.5)).compile(X, labelled=range(50))
    assert is_sparse(problem.blocks[0].features)
    assert problem.linear_program().matrix.nnz < X.nnz + 4000 + 500 + 2


def test_scaling_changes_no_answer(problem: mlp.Problem) -> None:
    factors = 2.0 ** np.arange(problem.n_moments)
    scaled = problem.scaled(factors)
    assert np.allclose(scaled.A.toarray(), problem.A.toarray() * factors)
    one, two = mlp.solve(problem), mlp.solve(scaled)
    assert one.objective == pytest.approx(two.objective, rel=1e-9)


def test_saving_loses_nothing(problem: mlp.Problem, tmp_path: Path) -> None:
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
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * share)])
    with pytest.raises(mlp.FileFormatError):
        mlp.Problem.load(path)


def test_every_array_is_needed(tmp_path: Path) -> None:
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
        np.savez(path, **changed, digest=compute_digest(changed))  # as one who tampers with the file on purpose would
        with pytest.raises(mlp.FileFormatError, match="finite matrix" if "features" in key else key.rpartition(".")[2]):
            mlp.Problem.load(path)


def test_a_problem_with_strange_names_survives_saving(tmp_path: Path) -> None:
    names = ["a" * 100_000, "\ud800", "é\n", ""]
    problem = mlp.Problem.from_arrays(np.ones((2, 4)), 0.0, 1.0, names=names)
    problem.save(tmp_path / "problem.npz")
    assert same_problem(problem, mlp.Problem.load(tmp_path / "problem.npz"))


def test_a_file_of_a_later_momentlp_is_told_as_such(tmp_path: Path) -> None:
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


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
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


def test_mps_reads_back_in_highs_and_glpk(problem: mlp.Problem, tmp_path: Path) -> None:
    path = tmp_path / "problem.mps"
    problem.to_mps(path)
    optimum = mlp.solve(problem).objective
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    assert highs.readModel(str(path)) == highspy.HighsStatus.kOk
    highs.run()
    assert -highs.getInfo().objective_function_value == pytest.approx(optimum, rel=1e-6)
    swiglpk.glp_term_out(swiglpk.GLP_OFF)
    handle = swiglpk.glp_create_prob()
    assert swiglpk.glp_read_mps(handle, swiglpk.GLP_MPS_FILE, None, str(path)) == 0
    swiglpk.glp_simplex(handle, None)
    assert -swiglpk.glp_get_obj_val(handle) == pytest.approx(optimum, rel=1e-6)
    swiglpk.glp_delete_prob(handle)
    swiglpk.glp_term_out(swiglpk.GLP_ON)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"lower": 1.0, "upper": 0.0}, "lower must not exceed upper"),
        ({"lower": np.nan}, "neither may be NaN"),
        ({"lower": np.inf, "upper": np.inf}, "lower and upper of moment 'a0'"),
        ({"lower": [0.0]}, r"lower must hold 2 number\(s\)"),
        ({"upper": "x"}, "upper must hold numbers"),
        ({"weights": [1.0]}, r"weights must hold 3 number\(s\)"),
        ({"weights": np.inf}, "weights must be finite"),
        ({"caps": -1.0}, "caps must not be negative"),
        ({"names": ["only one"]}, r"names holds 1 name\(s\)"),
        ({"names": ["same", "same"]}, "two moments are named 'same'"),
    ],
    ids=str,
)
def test_bad_matrices_are_named(change: dict[str, object], words: str) -> None:
    arguments = {"A": np.ones((3, 2)), "lower": 0.0, "upper": 0.0} | change
    with pytest.raises(mlp.DataError, match=words):
        mlp.Problem.from_arrays(**arguments)


def test_an_outlier_in_a_unit_of_its_own_is_the_same_program() -> None:
    program = mlp.Problem.from_arrays(
        [[1.0], [1e6], [-2.0]], -1.0, 3.0, weights=[1.0, 2.0, 3.0], caps=[1.0, 3.0, 2.0]
    ).linear_program()
    scaled = program.with_scaled_outliers()
    assert scaled.unit is not None
    assert scaled.unit[1] < 1e-5
    assert np.abs(scaled.matrix.data).max() <= 2
    h = np.array([0.5, 2.0, 1.0])
    x = h / scaled.unit
    assert np.array_equal(scaled.memberships(x), h)
    assert np.array_equal(scaled.col_upper * scaled.unit, program.col_upper)
    assert scaled.matrix @ x == pytest.approx(program.matrix @ h)
    assert scaled.cost @ x == pytest.approx(program.cost @ h)

"""Problem.from_mps: round trips, every section and sign rule of the format, and what is refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from random import Random

import highspy
import numpy as np
import pytest
import scipy.sparse as sp
import swiglpk
from fuzz import damage
from fuzz.valid_files import MPS_IN_FIXED_FORMAT as FIXED
from fuzz.valid_files import MPS_OF_OTHERS as VALID
from hypothesis import given
from hypothesis import strategies as st

import momentlp as mlp

N_PROBLEMS = 50  # for every seed


def random_bounds(rng: np.random.Generator, n_moments: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of all kinds around zero: equations, two bounds, one bound, none."""
    lower, upper = -rng.random(n_moments) * 10.0 ** rng.integers(-3, 3), rng.random(n_moments)
    kind = rng.integers(0, 6, n_moments)
    lower[kind == 0], upper[kind == 1] = -np.inf, np.inf
    lower[kind == 2], upper[kind == 2] = -np.inf, np.inf
    lower[kind == 3], upper[kind == 3] = 0.0, 0.0
    return lower, upper


def random_problem(rng: np.random.Generator) -> mlp.Problem:
    """A problem with the empty set, so that it has an optimum: dense, sparse, sparse and centred, or of two blocks."""
    n_points, n_moments = int(rng.integers(1, 25)), int(rng.integers(1, 6))
    lower, upper = random_bounds(rng, n_moments)
    dense = rng.normal(size=(n_points, n_moments)) * 10.0 ** rng.integers(-2, 3, n_moments)
    sparse = sp.csr_array(np.where(rng.random(dense.shape) < rng.choice([0.1, 0.3]), dense, 0.0))
    names = [f"moment {j}" if rng.random() < 0.2 else f"m{j}" for j in range(n_moments)]
    kind = rng.integers(0, 4)
    some = {
        "weights": np.round(rng.normal(1, 1, n_points), 2) if rng.random() < 0.5 else 1.0,
        "caps": rng.integers(0, 4, n_points) * rng.choice([1.0, 0.7]) if rng.random() < 0.5 else 1.0,
    }
    if kind == 0:
        problem = mlp.Problem.from_arrays(dense, lower, upper, names=names, **some)
    elif kind == 1:
        problem = mlp.Problem.from_arrays(sparse, lower, upper, names=names, **some)
    else:
        base = mlp.Problem.from_arrays(np.ones((n_points, 1)), -np.inf, np.inf, names=["first"], **some)
        problem = base.with_rows(sparse, lower, upper, names, shift=rng.normal(size=n_moments) * rng.integers(0, 2))
        problem = replace(problem, blocks=problem.blocks[1:]) if kind == 2 else problem
    if rng.random() < 0.3:
        problem = replace(problem, whole=rng.random(n_points) < rng.choice([0.3, 1.0]))
    return problem


def assert_equal(read: mlp.Problem, problem: mlp.Problem) -> None:
    """Both problems are the same linear program, to the last bit."""
    got, expected = read.linear_program(), problem.linear_program()
    assert got.matrix.shape == expected.matrix.shape
    assert (got.matrix != expected.matrix).nnz == 0
    for field in ("cost", "row_lower", "row_upper", "col_lower", "col_upper"):
        np.testing.assert_array_equal(getattr(got, field), getattr(expected, field), err_msg=field)
    np.testing.assert_allclose(read.A.toarray(), problem.A.toarray(), rtol=1e-13, atol=1e-13 * problem.scale.max())
    np.testing.assert_array_equal(read.whole, problem.whole)
    assert read.names == tuple(name.replace(" ", "_") for name in problem.names)


def highs_optimum(path: Path) -> float | None:
    """The maximal weight that HiGHS finds for a file that minimises; None if there is none."""
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.setOptionValue("mip_rel_gap", 0.0)
    assert highs.readModel(str(path)) == highspy.HighsStatus.kOk
    highs.run()
    is_optimal = highs.getModelStatus() == highspy.HighsModelStatus.kOptimal
    return -highs.getInfo().objective_function_value if is_optimal else None


def passed_optimum(problem: mlp.Problem) -> float | None:
    """The maximal weight that HiGHS finds for a problem that is passed without a file."""
    program = problem.linear_program()
    model = highspy.HighsLp()
    model.num_col_, model.num_row_ = program.matrix.shape[1], program.matrix.shape[0]
    model.sense_, model.col_cost_ = highspy.ObjSense.kMaximize, program.cost
    model.col_lower_, model.col_upper_ = program.col_lower, program.col_upper
    model.row_lower_, model.row_upper_ = program.row_lower, program.row_upper
    model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    model.a_matrix_.start_, model.a_matrix_.index_ = program.matrix.indptr, program.matrix.indices
    model.a_matrix_.value_ = program.matrix.data
    if program.integer is not None:
        model.integrality_ = [highspy.HighsVarType(int(column)) for column in program.integer]
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.setOptionValue("mip_rel_gap", 0.0)
    highs.passModel(model)
    highs.run()
    is_optimal = highs.getModelStatus() == highspy.HighsModelStatus.kOptimal
    return highs.getInfo().objective_function_value if is_optimal else None


@pytest.mark.parametrize("seed", range(6))
def test_random_problems_come_back_equal_and_highs_agrees(seed: int, tmp_path: Path) -> None:
    rng, path = np.random.default_rng(seed), tmp_path / "problem.mps"
    for _ in range(N_PROBLEMS):
        problem = random_problem(rng)
        problem.to_mps(path)
        read = mlp.Problem.from_mps(path)
        assert_equal(read, problem)
        optimum = passed_optimum(read)
        assert highs_optimum(path) == (optimum if optimum is None else pytest.approx(optimum, rel=1e-6, abs=1e-6))


def test_problems_of_specs_come_back_equal(problem: mlp.Problem, tmp_path: Path) -> None:
    problem.to_mps(tmp_path / "problem.mps")
    assert_equal(mlp.Problem.from_mps(tmp_path / "problem.mps"), problem)


def test_bounds_of_very_different_size_come_back_equal(tmp_path: Path) -> None:
    lower = [-0.3, -1e-20, 1e-20, -1e20, -0.1, 1.0, -5e-324]
    upper = [0.9, 1.0, 0.7, 0.1, 1e-30, 1.0000000000000002, 0.1]
    problem = mlp.Problem.from_arrays(np.ones((2, 7)), lower, upper)
    problem.to_mps(tmp_path / "problem.mps")
    assert_equal(mlp.Problem.from_mps(tmp_path / "problem.mps"), problem)


def test_sparse_features_with_a_mean_stay_sparse(tmp_path: Path) -> None:
    points = sp.random_array((400, 300), density=0.01, rng=np.random.default_rng(0), format="csr")
    problem = mlp.Spec(tolerance=mlp.Absolute(0.3)).compile(points, labelled=range(20))
    problem.to_mps(tmp_path / "problem.mps")
    read = mlp.Problem.from_mps(tmp_path / "problem.mps")
    assert [block.features.nnz for block in read.blocks] == [points.nnz]
    assert read.n_points == 400
    assert mlp.solve(read).objective == pytest.approx(mlp.solve(problem).objective)


def test_glpk_and_highs_read_the_markers_of_integers(tmp_path: Path) -> None:
    whole = np.array([True, True, False, True, False])
    problem = mlp.Problem.from_arrays(np.array([[2.0], [2.0], [1.0], [2.0], [1.0]]), -np.inf, 3.5, caps=[1, 2, 1, 1, 0.5])
    problem = replace(problem, whole=whole)
    path = tmp_path / "problem.mps"
    problem.to_mps(path)
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.readModel(str(path))
    assert [kind == highspy.HighsVarType.kInteger for kind in highs.getLp().integrality_] == whole.tolist()
    swiglpk.glp_term_out(swiglpk.GLP_OFF)
    handle = swiglpk.glp_create_prob()
    try:
        assert swiglpk.glp_read_mps(handle, swiglpk.GLP_MPS_FILE, None, str(path)) == 0
        kinds = [swiglpk.glp_get_col_kind(handle, column) for column in range(1, 6)]
        caps = [swiglpk.glp_get_col_ub(handle, column) for column in range(1, 6)]
    finally:
        swiglpk.glp_delete_prob(handle)
        swiglpk.glp_term_out(swiglpk.GLP_ON)
    assert [kind != swiglpk.GLP_CV for kind in kinds] == whole.tolist()
    assert caps == problem.caps.tolist()
    np.testing.assert_array_equal(mlp.Problem.from_mps(path).whole, whole)


def test_files_that_highs_writes_are_read(problem: mlp.Problem, tmp_path: Path) -> None:
    problem.to_mps(tmp_path / "problem.mps")
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.readModel(str(tmp_path / "problem.mps"))
    highs.writeModel(str(tmp_path / "written.mps"))
    assert passed_optimum(mlp.Problem.from_mps(tmp_path / "written.mps")) == pytest.approx(passed_optimum(problem))


@pytest.mark.parametrize("layout", [swiglpk.GLP_MPS_FILE, swiglpk.GLP_MPS_DECK], ids=["free", "fixed"])
def test_files_that_glpk_writes_are_read(problem: mlp.Problem, layout: int, tmp_path: Path) -> None:
    problem.to_mps(tmp_path / "problem.mps")
    swiglpk.glp_term_out(swiglpk.GLP_OFF)
    handle = swiglpk.glp_create_prob()
    try:
        swiglpk.glp_read_mps(handle, swiglpk.GLP_MPS_FILE, None, str(tmp_path / "problem.mps"))
        assert swiglpk.glp_write_mps(handle, layout, None, str(tmp_path / "written.mps")) == 0
    finally:
        swiglpk.glp_delete_prob(handle)
        swiglpk.glp_term_out(swiglpk.GLP_ON)
    assert passed_optimum(mlp.Problem.from_mps(tmp_path / "written.mps")) == pytest.approx(passed_optimum(problem), rel=1e-4)


def test_names_that_mps_does_not_allow_are_changed(tmp_path: Path) -> None:
    names = ["a b", "$x", "*y", "minus_size", "count", "'MARKER'", "null\0", "é" * 150, "plain"]
    problem = mlp.Problem.from_arrays(np.ones((2, 9)), 0.0, 1.0, names=names)
    problem.to_mps(tmp_path / "problem.mps")
    read = mlp.Problem.from_mps(tmp_path / "problem.mps")
    assert (read.names[0], read.names[-1]) == ("a_b", "plain")
    np.testing.assert_array_equal(read.upper, problem.upper)


@pytest.fixture
def read(tmp_path: Path) -> Callable[[str], mlp.Problem]:
    """Return a function that writes a text to a file and reads the problem in it."""

    def read_text(text: str) -> mlp.Problem:
        path = tmp_path / "file.mps"
        path.write_text(text, newline="")
        return mlp.Problem.from_mps(path)

    return read_text


Read = Callable[[str], mlp.Problem]


def test_every_section_is_read(read: Read) -> None:
    problem = read(VALID)
    assert problem.names == ("at_most", "at_least", "equal", "unused")
    np.testing.assert_array_equal(problem.A.toarray(), [[1.5, 0, 1, 0], [0, -1, 0, 0], [0, 0, 0, 7]])
    np.testing.assert_array_equal(problem.lower, [3, -2, 1, -np.inf])
    np.testing.assert_array_equal(problem.upper, [4, np.inf, 1, np.inf])
    np.testing.assert_array_equal(problem.weights, [2, 3, 5])
    np.testing.assert_array_equal(problem.caps, [2, 3, 1])
    np.testing.assert_array_equal(problem.whole, [False, True, False])


@pytest.mark.parametrize("ending", ["\r\n", "\n\n"])
def test_line_ends_and_blank_lines_do_not_matter(read: Read, ending: str) -> None:
    assert_equal(read(VALID.replace("\n", ending)), read(VALID))


def test_names_of_sets_may_be_missing(read: Read) -> None:
    assert_equal(read(re.sub(r"(RHS|RNG|BND)  ", "", VALID)), read(VALID))


@pytest.mark.parametrize(
    ("text", "sign"),
    [("", -1), ("OBJSENSE MAX\n", 1), ("OBJSENSE MIN\n", -1), ("OBJSENSE\n  MAXIMIZE\n", 1), ("objsense\n minimise\n", -1)],
)
def test_a_minimisation_is_negated(read: Read, text: str, sign: int) -> None:
    problem = read(VALID.replace("OBJSENSE\n    MAX\n", text))
    np.testing.assert_array_equal(problem.weights, sign * np.array([2.0, 3.0, 5.0]))


@pytest.mark.parametrize(
    ("kind", "width", "bounds"),
    [
        ("L", "1", (9, 10)), ("L", "-1", (9, 10)), ("L", "0", (10, 10)), ("G", "1", (10, 11)), ("G", "-1", (10, 11)),
        ("E", "1", (10, 11)), ("E", "-1", (9, 10)), ("E", "0", (10, 10)),
    ],
)  # fmt: skip
def test_sign_rules_of_ranges(read: Read, kind: str, width: str, bounds: tuple[float, float]) -> None:
    rows = f"ROWS\n N f\n {kind} r\nCOLUMNS\n x f 1 r 1\nRHS\n S r 10\n"
    problem = read(f"NAME\n{rows}RANGES\n S r {width}\nBOUNDS\n UP B x 1\nENDATA\n")
    assert (problem.lower[0], problem.upper[0]) == bounds


def test_ranges_are_subtracted_in_decimals(read: Read) -> None:
    text = "ROWS\n N f\n L r\nCOLUMNS\n x f 1 r 1\nRHS\n r .3\nRANGES\n r .1\nBOUNDS\n UP x 1\nENDATA\n"
    assert read(text).lower[0] == 0.2


@pytest.mark.parametrize(
    ("bounds", "cap", "start", "whole"),
    [
        ("UP B x 3", 3, 0, False), ("UP x 3", 3, 0, False), ("LO B x 1\n UP B x 3", 2, 1, False),
        ("UP B x -1\n LO B x -4", 3, -4, False), ("LO B x -2\n UP B x 2", 4, -2, False), ("FX B x 2", 0, 2, False),
        ("BV B x", 1, 0, True), ("BV B x 1", 1, 0, True), ("BV x", 1, 0, True), ("UI B x 3", 3, 0, True),
        ("LI B x 1\n UI B x 3", 2, 1, True), ("LI B x 0.5\n UI B x 3.5", 2, 1, True), ("UP B x 0", 0, 0, False),
    ],
)  # fmt: skip
def test_bounds_become_caps_from_the_lower_bound(read: Read, bounds: str, cap: float, start: float, whole: bool) -> None:
    problem = read(f"ROWS\n N f\n L r\nCOLUMNS\n x f 1 r 2\nRHS\n r 10\nBOUNDS\n {bounds}\nENDATA\n")
    assert (problem.caps[0], problem.is_whole) == (cap, whole)
    assert problem.upper[0] == 10 - 2 * start


def test_integers_without_bounds_are_binary(read: Read) -> None:
    text = "ROWS\n N f\n L r\nCOLUMNS\n m 'MARKER' 'INTORG'\n x f 1 r 2\nENDATA\n"
    problem = read(text)
    assert (problem.caps[0], problem.is_whole, problem.upper[0]) == (1.0, True, 0.0)


FREE_COLUMN = """\
ROWS
 N f
 L r
 E {kind}
COLUMNS
 x f -1 r 2
 x {kind} 1
 y f -1 {kind} 1
 n r -0.5 {kind} -1
 n f -0.25
RHS
 r 3
BOUNDS
 UP x 1
 LO y 1
 UP y 3
 FR n
ENDATA
"""


def test_the_sum_of_all_columns_is_substituted(read: Read) -> None:
    problem = read(FREE_COLUMN.format(kind="total"))
    assert problem.names == ("r",)
    np.testing.assert_array_equal(problem.A.toarray(), [[1.5], [-0.5]])
    np.testing.assert_array_equal(problem.weights, [1.25, 1.25])
    np.testing.assert_array_equal(problem.caps, [1, 2])
    assert problem.upper[0] == 3.5


def test_names_with_blanks_are_read_in_fixed_format(read: Read) -> None:
    problem = read(FIXED)
    assert problem.names == ("row one", "row two")
    np.testing.assert_array_equal(problem.A.toarray(), [[2, 1], [0, 1]])
    np.testing.assert_array_equal(problem.lower, [3, 1])
    np.testing.assert_array_equal(problem.upper, [4, 1])
    np.testing.assert_array_equal(problem.weights, [1, 3])
    np.testing.assert_array_equal(problem.caps, [2, 1])
    np.testing.assert_array_equal(problem.whole, [False, True])


def test_errors_in_fixed_format_name_their_line(read: Read) -> None:
    with pytest.raises(mlp.FileFormatError, match=r"line 15 of .*there is no row 'row six'"):
        read(FIXED.replace("              row one             1.", "              row six             1."))


REFUSED = [
    ("NAME          example", "NAMES", 2, "there is no section 'NAMES'"),
    ("OBJSENSE\n    MAX", "OBJSENSE\n    UP", 4, "the sense of the objective is MAX or MIN, not 'UP'"),
    ("OBJSENSE\n", " x\n", 3, "section NAME has no entries"),
    (" E  equal", " Q  equal", 10, "row 'equal' is of type 'Q'"),
    (" E  equal", " E  at_most", 10, "row 'at_most' occurs twice"),
    (" E  equal", " E", 10, "it has 1 field\\(s\\), which ROWS does not allow"),
    ("COLUMNS", "COLUMN", 12, "there is no section 'COLUMN'"),
    ("    x  equal  1", "    x  equals  1", 14, "there is no row 'equals'"),
    ("    x  equal  1", "    x  at_most  1", 14, "column 'x' has two entries in row 'at_most'"),
    ("    x  equal  1", "    x  equal  one", 14, "'one' is not a number"),
    ("    x  equal  1", "    x  equal  nan", 14, "'nan' is not a number"),
    ("    x  equal  1", "    x  equal  inf", 14, "'inf' is not a number"),
    ("    x  equal  1", "    x  equal  1e999", 14, "'1e999' is too large"),
    ("    x  equal  1", "    x  equal  1_0", 14, "'1_0' is not a number"),
    ("    x  equal  1", "    x  equal", 14, "it has 2 field"),
    ("    x  equal  1", "    x  equal  1  " + "9" * 5000, 14, "it has more than 4096 bytes"),
    ("    x  equal  1", "    x  equal  1\0", 14, "it is not text: it holds the byte 0x00"),
    ("'INTORG'", "'INTEND'", 15, "'INTEND' comes without 'INTORG'"),
    ("'INTEND'", "'INTORG'", 17, "'INTORG' follows 'INTORG'"),
    ("'INTORG'", "'SOSORG'", 15, "the marker \"'SOSORG'\" is not"),
    ("    z  gain", "    x  gain", 18, "column 'x' began before"),
    ("    RHS  equal  1", "    RHS  other  1", 21, "there is no row 'other'"),
    ("    RHS  equal  1", "    RHS  at_most  1", 21, "row 'at_most' has two right sides"),
    ("    RHS  equal  1", "    RHS  gain  1", 21, "objective 'gain' has the constant -1.0"),
    ("    RHS  equal  1", "    TWO  equal  1", 21, "RHS has two sets, 'RHS' and 'TWO'"),
    ("    RNG  at_most  1", "    RNG  unused  1", 23, "row 'unused' is of type N and cannot have a range"),
    ("    RNG  at_most  1", "    RNG  at_most  1  at_most  1", 23, "row 'at_most' has two ranges"),
    ("    RNG  at_most  1", "    RNG  at_most  inf", 23, "'inf' is not a number"),
    ("BOUNDS", "RHS", 24, "section RHS occurs twice"),
    ("BOUNDS", "ROWS", 24, "section ROWS occurs twice"),
    (" UP BND  x  2", " UP BND  w  2", 25, "there is no column 'w'"),
    (" UP BND  x  2", " UP BND  x  nan", 25, "'nan' is not a number"),
    (" UP BND  x  2", " SC BND  x  2", 25, "semi-continuous columns cannot be read"),
    (" UP BND  x  2", " XX BND  x  2", 25, "the bound of column 'x' is of type 'XX', not UP"),
    (" UP BND  x  2", " UP BND  y  2", 26, "column 'y' has two upper bounds"),
    (" UP BND  x  2", " LO BND  x  1", 25, "column 'x' has no finite upper bound.* add one to section BOUNDS, as in ' UP"),
    (" UP BND  x  2", " UP BND  x  1e30", 25, "column 'x' has no finite upper bound"),
    (" UP BND  x  2", " UP BND  x  inf", 25, "column 'x' has no finite upper bound"),
    (" UP BND  x  2", " PL BND  x", 25, "column 'x' has no finite upper bound"),
    (" UP BND  x  2", " FR BND  x", 25, "column 'x' has no finite upper bound"),
    (" UP BND  x  2\n", "", 13, "column 'x' has no finite upper bound"),
    (" UP BND  x  2", " UP BND  x  -2", 25, "column 'x' has no finite lower bound"),
    (" UP BND  x  2", " UP BND  x  2\n MI BND  x", 26, "column 'x' has no finite lower bound"),
    (" UP BND  x  2", " UP BND  x  2\n LO BND  x  3", 26, "column 'x' has crossed bounds: no value between 3.0 and 2.0"),
    (" UP BND  y  3.7", " UP BND  y  .7\n LO BND  y  .3", 27, "column 'y' has crossed bounds: no integers between"),
    ("ENDATA\n", "", 27, "the file ends here without ENDATA"),
    ("ENDATA\n", "ENDATA\nROWS\n", 29, "it stands after ENDATA"),
    ("ENDATA", "SOS", 28, "section SOS holds special ordered sets"),
    ("ENDATA", "SOS1", 28, "section SOS1 holds special ordered sets"),
    ("ENDATA", "QUADOBJ", 28, "section QUADOBJ holds a quadratic objective"),
    ("ENDATA", "QSECTION gain", 28, "section QSECTION holds a quadratic objective"),
    ("ENDATA", "QCMATRIX at_most", 28, "section QCMATRIX holds quadratic constraints"),
    ("ENDATA", "CSECTION", 28, "section CSECTION holds cones"),
    ("ENDATA", "INDICATORS", 28, "section INDICATORS holds indicator constraints"),
    ("ENDATA", "GENCONS", 28, "section GENCONS holds constraints that are not linear"),
    ("ENDATA", "LAZYCONS", 28, "section LAZYCONS holds lazy constraints"),
    ("ENDATA", "OBJNAME", 28, "section OBJNAME holds a choice of objectives"),
]


@pytest.mark.parametrize(("old", "new", "line", "message"), REFUSED)
def test_damage_is_refused_with_its_line(read: Read, old: str, new: str, line: int, message: str) -> None:
    assert old in VALID
    with pytest.raises(mlp.FileFormatError, match=message) as caught:
        read(VALID.replace(old, new, 1))
    assert "file.mps'" in str(caught.value)
    assert f"line {line} of " in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file ends here without ENDATA"),
        ("COLUMNS\n", "line 1 .* section COLUMNS comes before section ROWS"),
        (" x\n", "line 1 .* it stands before the first section"),
        ("ROWS\nCOLUMNS\nENDATA\n", "section COLUMNS is empty"),
        ("ROWS\n L r\nCOLUMNS\n x r 1\nENDATA\n", "section ROWS has no objective"),
        ("ROWS\n N f\nCOLUMNS\n x f 1\nBOUNDS\n UP x 1\nENDATA\n", "it has no row but the objective"),
        ("ROWS\n N f\n L r\nCOLUMNS\n x f 1e200 r 1\nBOUNDS\n UP x 1e29\nENDATA\n", None),
        ("ROWS\n N f\n L r\nCOLUMNS\n x f 1e300 r 1\nBOUNDS\n UP x 10\nENDATA\n", "weights times caps overflow"),
        (
            "ROWS\n N f\n L r\nCOLUMNS\n x f 1 r 1e300\nBOUNDS\n LO x 1e20\n UP x 1e21\nENDATA\n",
            "rows overflow when columns begin at their lower bounds",
        ),
        (
            "ROWS\n N f\n L r\nCOLUMNS\n x f 1 r 1\nRHS\n r -1e308\nRANGES\n r 1e308\nBOUNDS\n UP x 1\nENDATA\n",
            "too large for a float",
        ),
    ],
)
def test_files_without_a_problem_are_refused(read: Read, text: str, message: str | None) -> None:
    if message is None:
        assert read(text).n_points == 1
        return
    with pytest.raises(mlp.FileFormatError, match=message):
        read(text)


def test_a_free_column_needs_a_row_that_defines_it(read: Read) -> None:
    with pytest.raises(mlp.FileFormatError, match="column 'n' has no finite upper bound"):
        read(FREE_COLUMN.format(kind="total").replace(" y f -1 total 1", " y f -1 total 2"))


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(mlp.FileFormatError, match="there is no file"):
        mlp.Problem.from_mps(tmp_path / "missing.mps")
    with pytest.raises(mlp.FileFormatError, match="cannot be read as a problem"):
        mlp.Problem.from_mps(tmp_path)


def test_binary_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "binary.mps").write_bytes(b"\x1f\x8b\x08\x00" + bytes(range(256)))
    with pytest.raises(mlp.FileFormatError, match=r"line 1 of .* it is not text in UTF-8: it holds the byte 0x8b"):
        mlp.Problem.from_mps(tmp_path / "binary.mps")


@given(st.randoms(use_true_random=False), st.sampled_from([VALID, FIXED, FREE_COLUMN.format(kind="total")]))
def test_damaged_files_raise_only_the_errors_of_this_package(
    tmp_path_factory: pytest.TempPathFactory, random: Random, text: str
) -> None:
    path = tmp_path_factory.getbasetemp() / "damaged.mps"
    path.write_bytes(damage.problem_mps(text.encode(), random))
    with suppress(mlp.FileFormatError):
        mlp.Problem.from_mps(path).linear_program()

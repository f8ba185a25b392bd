"""MPS files of problems, read by other solvers."""

from __future__ import annotations

from pathlib import Path

import highspy
import pytest
import swiglpk

import momentlp as mlp


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

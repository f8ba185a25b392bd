"""solve_many keeps one copy of the data: workers map large arrays, and arrays that are not needed are freed."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from helpers.many_problems import (
    SPEC,
    X,
    in_one_and_two_processes,
    on_linux,
    problems,
    same,
    shared_memory_of_this_process,
)
from helpers.processes import wait_until

import momentlp as mlp
from momentlp.runtime import shared_arrays


class ViewOf:
    """A function that returns a problem; every pickle of it holds a new view of the points."""

    def __init__(self, points: Any) -> None:
        self.points = points

    def __getstate__(self) -> dict[str, Any]:
        return {"points": self.points[:]}

    def __call__(self) -> mlp.Problem:
        return problems(1, self.points)[0]


@dataclass
class Seen:
    """What a worker saw of the features of a problem."""

    solution: mlp.Solution
    pid: int
    kind: str
    file: str  # the file that the features are mapped from
    private: int  # kilobytes of the map that no other process shares
    first: float | None


def look(folder: Path, solution: mlp.Solution) -> Seen:
    """Look at the features, write to them if they can be written, and wait until the other worker has looked too."""
    features: Any = solution.problem.blocks[0].features
    kind, file, private, first = type(features).__name__, "", 0, None
    if kind == "MemoryMapped":
        file = Path(features._array.filename).name
    elif sys.platform == "linux":
        file, private = how_it_is_mapped(features.data if sp.issparse(features) else features)
    if kind == "ndarray":
        first = float(features[0, 0])
        features[0, 0] = 1e9
    (folder / str(os.getpid())).touch()
    assert wait_until(lambda: len(list(folder.iterdir())) == 2)
    return Seen(solution, os.getpid(), kind, file, private, first)


def how_it_is_mapped(array: np.ndarray) -> tuple[str, int]:
    address, file, private, inside = array.__array_interface__["data"][0], "", 0, False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        head = line.split(maxsplit=5)
        if "-" in head[0] and not head[0].endswith(":"):
            start, end = (int(part, 16) for part in head[0].split("-"))
            inside = start <= address < end
            file = f"{head[4]} {head[5]}" if inside and len(head) == 6 else file
        elif inside and head[0] == "Anonymous:":
            private = int(head[1])
    return file, private


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[tuple[Any, Any]]]:
    """What two workers saw of several kinds of problems, as pairs of what was given and what was seen."""
    path = tmp_path_factory.mktemp("data") / "X.npy"
    np.save(path, np.concatenate([X[:100], X]))
    file = np.load(path, mmap_mode="r")
    parts = (file[100:], file[:50], file[100::3], file[:, 3:90:2])
    given: dict[str, list[Any]] = {
        "dense": problems(3),
        "made there": [partial(SPEC.compile, X, labelled=[0, 1, 2]), ViewOf(X), ViewOf(X + 0.0)],
        "sparse": problems(2, sp.random(300, 20, density=0.5, format="csr", random_state=0)),
        "mapped": [SPEC.compile(part, labelled=[0, 1, 2]) for part in parts],
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shared_arrays, "MIN_SHARED_BYTES", 20_000)  # bytes: so the sparse ones are shared too
        keep = partial(look, tmp_path_factory.mktemp("seen"))
        found = iter(mlp.solve_many([item for items in given.values() for item in items], n_jobs=2, keep=keep))
    return {kind: [(item, next(found)) for item in items] for kind, items in given.items()}


def test_solutions_are_those_of_solve_in_the_order_of_the_problems(seen: dict[str, Any]) -> None:
    for problem, solution in ((given, found.solution) for given, found in seen["dense"] + seen["sparse"]):
        one = mlp.solve(problem)
        assert same(solution, one)
        assert solution.problem is problem
        assert solution.certificate.problem is problem
        assert solution.certificate.membership is solution.membership
        assert solution.certificate.figures() == pytest.approx(one.certificate.figures(), rel=1e-6, abs=1e-9)
        assert (solution.backend, solution.engine, solution.version) == (one.backend, one.engine, one.version)
        assert solution.iterations > 0
        assert set(solution.seconds) == set(one.seconds)
        assert solution.membership.flags.writeable


def test_a_problem_made_in_a_worker_comes_back_with_its_solution_but_its_data_does_not(seen: dict[str, Any]) -> None:
    expected = mlp.solve(problems(1)[0])
    (_, made), (_, from_view), (maker, from_another) = seen["made there"]
    assert all(same(seen.solution, expected) for seen in (made, from_view, from_another))
    assert made.solution.problem.blocks[0].features is X
    assert np.shares_memory(from_view.solution.problem.blocks[0].features, X)
    assert np.shares_memory(from_another.solution.problem.blocks[0].features, maker.points)


@on_linux
def test_processes_share_one_copy_of_the_features(seen: dict[str, Any]) -> None:
    dense = [found for _, found in seen["dense"] + seen["made there"][:2]]
    assert len({found.pid for found in dense}) == 2
    assert os.getpid() not in {found.pid for found in dense}
    assert {found.kind for found in dense} == {"ndarray"}  # an ordinary array, not a memory map of a file on disk
    for ones in (dense, [found for _, found in seen["sparse"]]):
        assert len({found.file for found in ones}) == 1
        assert "memfd:momentlp" in ones[0].file
        assert {found.private for found in ones} == {0}
    assert shared_memory_of_this_process() == 0


def test_a_worker_that_writes_to_shared_data_changes_its_own_copy_only(seen: dict[str, Any]) -> None:
    assert {found.first for _, found in seen["dense"] + seen["made there"]} == {X[0, 0]}
    assert X.max() < 1e9


def test_a_memory_map_is_mapped_from_its_file(seen: dict[str, Any]) -> None:
    for problem, found in seen["mapped"]:
        assert (found.kind, found.file) == ("MemoryMapped", "X.npy")
        assert found.solution.objective == pytest.approx(mlp.solve(problem).objective)


def objective(solution: mlp.Solution) -> float:
    return solution.objective


@in_one_and_two_processes
def test_problems_are_taken_when_they_are_needed(n_jobs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_arrays, "MIN_SHARED_BYTES", 1000)
    drawn, max_unfinished, max_stored, done = 0, 0, 0, 0

    def fresh() -> Iterator[mlp.Problem]:
        nonlocal drawn, max_unfinished, max_stored
        rng = np.random.default_rng(0)
        for _ in range(24):
            drawn += 1
            max_unfinished = max(max_unfinished, drawn - done)
            max_stored = max(max_stored, shared_memory_of_this_process() if sys.platform == "linux" else 0)
            yield SPEC.compile(rng.normal(size=(100, 2)), labelled=[0, 1])

    def count(number: int, total: int | None) -> None:
        nonlocal done
        assert total is None
        assert number == done + 1
        done = number

    found = mlp.solve_many(fresh(), n_jobs=n_jobs, keep=objective, progress=count)
    assert (drawn, done, len(found)) == (24, 24, 24)
    assert max_unfinished <= (2 * n_jobs + 1 if n_jobs > 1 else 1)
    assert max_stored <= 2 * n_jobs + 1  # the array of a problem that is done is freed
    if sys.platform == "linux":
        assert shared_memory_of_this_process() == 0


def test_without_memfd_arrays_are_shared_in_temporary_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delattr(os, "memfd_create", raising=False)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (given,) = problems(1, np.asfortranarray(X))
    (found,) = mlp.solve_many([given], n_jobs=2)
    assert same(found, mlp.solve(given))
    assert list(tmp_path.iterdir()) == []

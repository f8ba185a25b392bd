"""The targets of fuzzing: each reads the bytes of a file and uses them as a user would.

A bad file must raise a :class:`~momentlp.MomentLPError`. Any other error of :meth:`Target.check` is a finding,
and so is a file that takes long or needs much memory.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random

import numpy as np

import momentlp as mlp
from fuzz import damage, valid_files
from momentlp.formats.tabular import Table, read_numbers, read_points
from momentlp.points.arrays import is_sparse
from momentlp.points.validation import as_indices, as_points, as_vector
from momentlp.solution.separator import Separator

MAX_ENTRIES = 10_000  # of a problem that is used; a larger one is only read


@dataclass(frozen=True)
class Target:
    """Something that reads a file.

    Attributes
    ----------
    ending : str
        The end of the name of the file.
    read : callable
        Reads the file at a path and uses what it holds.
    seeds : callable
        Returns valid files.
    mutate : callable
        Changes a file.
    """

    ending: str
    read: Callable[[Path], None]
    seeds: Callable[[], list[bytes]]
    mutate: Callable[[bytes, Random], bytes]

    def check(self, data: bytes) -> bool:
        """Return whether the file is taken; raise what is not a MomentLPError."""
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")  # overflow in the data is not a finding
            path = Path(folder) / f"file{self.ending}"
            path.write_bytes(data)
            try:
                self.read(path)
            except mlp.MomentLPError as error:
                if "\n" in str(error) or len(str(error)) > 5000:
                    raise AssertionError(f"an error of more than a line: {error}") from error
                str(error).encode()  # it can be printed
                return False
            return True


def _use_spec(path: Path) -> None:
    spec = mlp.Spec.load(path)
    written = spec.to_json()
    if mlp.Spec.from_json(written).to_json() != written:
        raise AssertionError("a spec that was read is not the same after another trip through JSON")
    if not any(isinstance(part, mlp.Transformer) for part in spec.features.parts()):  # they may take any time
        spec.compile(valid_files.points(), labelled=[0, 1, 2])


def _use_problem(path: Path) -> None:
    _use(mlp.Problem.load(path))


def _use_mps(path: Path) -> None:
    _use(mlp.Problem.from_mps(path))


def _use(problem: mlp.Problem) -> None:
    if problem.n_points * problem.n_moments > MAX_ENTRIES:
        return
    mlp.Certificate.of(problem, np.zeros(problem.n_points), np.zeros(problem.n_moments))
    problem.linear_program()
    problem.A.toarray()
    inputs = next((len(block.fitted.inputs) for block in problem.blocks if block.fitted), None)
    separator = Separator.of(problem, np.zeros(problem.n_moments))
    separator.decision_function(np.zeros((1, separator.normal.size if inputs is None else inputs)))


def _use_data(path: Path) -> None:
    """Use a file as points and as row numbers and as a mean; it is taken if it is one of them."""
    uses = (
        _as_points,
        lambda path: as_indices(read_numbers(path), MAX_ENTRIES),
        lambda path: as_vector(read_numbers(path), 1, "mean"),
    )
    refusals = []
    for use in uses:
        try:
            use(path)
        except mlp.MomentLPError as error:
            refusals.append(error)
    if len(refusals) == len(uses):
        raise refusals[0]


def _as_points(path: Path) -> None:
    points = read_points(path)
    matrix, _ = as_points(points)
    if is_sparse(matrix):
        matrix.T @ np.ones(matrix.shape[0])
    if isinstance(points, Table):
        try:
            points.split(points.columns[-1])
        except mlp.DataError:
            return


TARGETS = {
    "spec_json": Target(".json", _use_spec, valid_files.spec_json, damage.spec_json),
    "spec_yaml": Target(".yaml", _use_spec, valid_files.spec_yaml, damage.spec_yaml),
    "problem_file": Target(".npz", _use_problem, valid_files.problem_file, damage.problem_file),
    "problem_mps": Target(".mps", _use_mps, valid_files.problem_mps, damage.problem_mps),
    "data_csv": Target(".csv", _use_data, valid_files.data_csv, damage.data_csv),
    "data_npy": Target(".npy", _use_data, valid_files.data_npy, damage.data_npy),
    "data_npz": Target(".npz", _use_data, valid_files.data_npz, damage.data_npz),
    "data_parquet": Target(".parquet", _use_data, valid_files.data_parquet, damage.data_parquet),
}

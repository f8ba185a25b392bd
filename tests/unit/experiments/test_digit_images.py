"""The images of the experiments: the USPS digits from every source, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import momentlp as mlp
from momentlp.experiments.engine.digit_images import Digits, load_digit_images, split

Arrays = tuple[np.ndarray, np.ndarray]


def test_if_too_few_labels_are_held_out_all_are_labelled(digits: Digits) -> None:
    apart = np.random.default_rng(5).permutation(len(digits.X))[: digits.n_apart]
    n_zeros = int((digits.labels[apart] == 0).sum())
    assert len(split(digits.X, digits.labels, 500, digits.n_apart, 5)[2]) == n_zeros
    assert len(split(digits.X, digits.labels, n_zeros - 1, digits.n_apart, 5)[2]) == n_zeros - 1


def test_the_usps_digits_from_files_of_every_kind(usps: Arrays, tmp_path: Path) -> None:
    X, labels = usps
    table = np.column_stack([labels + 1.0, X])
    names = ["int0", *(f"double{number}" for number in range(1, 257))]
    np.savetxt(tmp_path / "usps.csv", table, delimiter=",", header=",".join(names), comments="", fmt="%.6g")
    head = ["@RELATION usps", *(f"@ATTRIBUTE {name} NUMERIC" for name in names[1:])]
    head += ["@ATTRIBUTE int0 {" + ",".join(map(str, range(1, 11))) + "}", "@DATA", ""]
    with (tmp_path / "usps.arff").open("w") as stream:
        stream.write("\n".join(head))
        np.savetxt(stream, np.column_stack([(X + 1) / 2, labels + 1]), delimiter=",", fmt=["%.9g"] * 256 + ["%d"])
    for name in ("usps.csv", "usps.arff"):
        found = load_digit_images(str(tmp_path / name))
        assert np.allclose(found.X, X, atol=1e-5)
        assert np.array_equal(found.labels, labels)
        assert found.is_usps


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a,b\n1,2\n3,4\n", "no column of labels"),
        ("", "usps.csv"),
        ("l,x\n" + "".join(f"{d},0.5\n" for d in range(10)), "9298"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "usps.csv").write_text(content)
    with pytest.raises(mlp.DataError, match=rf"{message}.*--data digits"):
        load_digit_images(str(tmp_path / "usps.csv"))


def test_a_folder_or_an_arff_file_without_the_digits_is_refused(tmp_path: Path) -> None:
    (tmp_path / "usps.arff").touch()
    for given, message in ((tmp_path, "no zip.train.gz"), (tmp_path / "usps.arff", "not a complete ARFF file")):
        with pytest.raises(mlp.DataError, match=rf"{message}.*--data digits"):
            load_digit_images(str(given))


def test_if_openml_is_unreachable_the_error_names_the_alternatives(monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(**_: Any) -> None:
        raise OSError("no route")

    monkeypatch.setattr("sklearn.datasets.fetch_openml", unreachable)
    with pytest.raises(mlp.DataError, match=r"no route.*--data digits"):
        load_digit_images("openml")

"""Files from anywhere: whatever is in them, they are read or refused with an error of ours, and nothing in them is run."""

from __future__ import annotations

import io
import json
import pickle
import subprocess
import sys
import textwrap
import tracemalloc
import zipfile
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from helpers.same_problem import same_problem
from hypothesis import given
from hypothesis import strategies as st

import momentlp as mlp
from fuzz import honest, run
from fuzz.targets import TARGETS, Target
from momentlp.formats import npz
from momentlp.formats.container import compute_digest
from momentlp.formats.tabular import read_points
from momentlp.points.arrays import is_sparse
from momentlp.runtime.atomic_files import write_atomically

words = st.sampled_from(
    ["kind", "maps", "eps", "delta", "z", "low", "high", "groups", "features", "linear", "concat", "share", ""]
)
values = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5), words)
kinds = st.sampled_from(
    ["linear", "quadratic", "kernel", "concat", "absolute", "relative", "share", "known", "group_share", "moment"]
)
fields = st.sampled_from(
    [
        "eps",
        "delta",
        "standardised",
        "standardise",
        "maps",
        "low",
        "high",
        "positives",
        "negatives",
        "groups",
        "features",
        "target",
        "tolerance",
        "kernel",
        "gamma",
        "landmarks",
        "degree",
        "name",
    ]
)
trees = st.recursive(
    values,
    lambda inside: st.one_of(
        st.lists(inside, max_size=4),
        st.dictionaries(st.one_of(words, st.text(max_size=3)), inside, max_size=4),
        st.builds(lambda kind, rest: {"kind": kind, **rest}, kinds, st.dictionaries(fields, inside, max_size=4)),
    ),
    max_leaves=12,
)
specs = st.dictionaries(st.sampled_from(["version", "features", "tolerance", "constraints", "other"]), trees, max_size=4)


def small() -> bytes:
    """The smallest honest saved problem."""
    return honest.saved(mlp.Problem.from_arrays([[-1.0], [2.0]], 0.0, 1.0))


def arrays_of(data: bytes) -> dict[str, np.ndarray]:
    with np.load(io.BytesIO(data)) as archive:
        return dict(archive)


def signed(arrays: dict[str, np.ndarray]) -> bytes:
    """A saved problem of these arrays with a digest that fits, as one who tampers with a file on purpose writes it."""
    stream, rest = io.BytesIO(), {key: array for key, array in arrays.items() if key != "digest"}
    np.savez(stream, **rest, digest=compute_digest(rest))
    return stream.getvalue()


def with_header(**changes: Any) -> bytes:
    arrays = arrays_of(small())
    header = {**json.loads(arrays["header"].tobytes()), **changes}
    return signed({**arrays, "header": np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)})


def load(data: bytes, folder: Path) -> mlp.Problem:
    (folder / "problem.npz").write_bytes(data)
    return mlp.Problem.load(folder / "problem.npz")


def test_honest_files_are_taken() -> None:
    for name in ("spec_json", "spec_yaml", "problem_file", "data_npy", "data_npz"):
        assert all(TARGETS[name].check(seed) for seed in TARGETS[name].seeds()), name
    for name in ("data_csv", "data_parquet"):
        assert TARGETS[name].check(TARGETS[name].seeds()[0]), name


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
@given(st.sampled_from([b"", b"PK\x03\x04", b"\x93NUMPY\x01\x00", b"PAR1", b"{", b"a: "]), st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(target: Target, start: bytes, content: bytes) -> None:
    target.check(start + content)


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
@given(st.integers(0, 2**64 - 1))
def test_spoiled_files_are_read_or_refused(target: Target, seed: int) -> None:
    random = Random(seed)
    content = random.choice(target.seeds())
    for _ in range(random.choice((1, 1, 2, 4))):
        content = target.mutate(content, random)
    target.check(content)


@given(specs)
def test_any_fields_make_a_spec_or_a_spec_error(tree: Any) -> None:
    content = json.dumps(tree).encode()
    TARGETS["spec_json"].check(content)
    TARGETS["spec_yaml"].check(content)  # most JSON is YAML


@given(specs)
def test_yaml_and_json_say_the_same(tree: Any) -> None:
    def answer(read: Any, text: str) -> Any:
        try:
            return read(text).to_json()
        except mlp.SpecError:
            return None

    yaml = pytest.importorskip("yaml")
    assert answer(mlp.Spec.from_yaml, yaml.safe_dump(tree)) == answer(mlp.Spec.from_json, json.dumps(tree))


def test_a_problem_cut_short_anywhere_is_refused(tmp_path: Path) -> None:
    whole = small()
    for length in range(len(whole)):
        with pytest.raises(mlp.FileFormatError):
            load(whole[:length], tmp_path)
    with pytest.raises(mlp.FileFormatError, match="added"):
        load(whole + b"\0", tmp_path)


@pytest.mark.parametrize("change", [0x01, 0xFF])
def test_a_problem_with_any_byte_changed_is_refused_or_the_same(tmp_path: Path, change: int) -> None:
    """What is not refused is a date, or a right of access, in the directory of the zip file: no part of the problem."""
    whole, taken = small(), 0
    original = load(whole, tmp_path)
    for place in range(len(whole)):
        try:
            loaded = load(whole[:place] + bytes([whole[place] ^ change]) + whole[place + 1 :], tmp_path)
        except mlp.FileFormatError:
            continue
        taken += 1
        assert same_problem(original, loaded), place
        assert np.array_equal(original.weights, loaded.weights)
    members = len(arrays_of(whole))
    assert taken <= 65 * members, "the bytes that nothing depends on are a few of each member's"


@pytest.mark.parametrize("key", sorted(arrays_of(small()).keys() - {"header", "digest"}))
def test_every_array_counts_in_the_digest(tmp_path: Path, key: str) -> None:
    arrays = arrays_of(small())
    for changed in (arrays[key] + 1, arrays[key].astype(np.float32), arrays[key][:1], arrays[key][None]):
        stream = io.BytesIO()
        np.savez(stream, **{**arrays, key: changed})
        if arrays[key].shape == changed.shape and arrays[key].dtype == changed.dtype and (arrays[key] == changed).all():
            continue
        with pytest.raises(mlp.FileFormatError, match="digest"):
            load(stream.getvalue(), tmp_path)


def test_what_lies_behind_the_digest_is_checked_too(tmp_path: Path) -> None:
    arrays = arrays_of(small())
    assert same_problem(load(signed(arrays), tmp_path), load(small(), tmp_path))
    wrong = [
        {"weights": np.array(1.0)},
        {"weights": np.ones((1, 2))},
        {"caps": np.array([1.0, -1.0])},
        {"caps": np.array(["1", "1"])},
        {"block0.origin": np.zeros((1, 1))},
        {"block0.origin": np.array([np.nan])},
        {"block0.lower": np.array([np.nan])},
        {"block0.upper": np.array([1 + 1j])},
        {"block0.features": np.ones((2, 1), dtype=np.int64)},
        {"block0.features": np.ones((2, 1)).astype(">f8")},
        {"block0.features": np.ones((0, 1))},
        {"header": np.frombuffer(b"[" * 100_000, dtype=np.uint8)},
        {"header": np.frombuffer(b"9" * 10_000, dtype=np.uint8)},
        {"header": np.frombuffer(b"\xff\xfe", dtype=np.uint8)},
    ]
    for change in wrong:
        with pytest.raises(mlp.FileFormatError):
            load(signed({**arrays, **change}), tmp_path)
    for changes in ({"population": 10**400}, {"population": -1}, {"blocks": []}, {"blocks": None}, {"labelled": True}):
        with pytest.raises(mlp.FileFormatError):
            load(with_header(**changes), tmp_path)


@pytest.mark.parametrize(
    "change",
    [
        {"indptr": [0, 10**9, 0]},
        {"indptr": [0, 2, 1]},
        {"indptr": [1, 2, 2]},
        {"indptr": [0, -1, 2]},
        {"indptr": [0, 1, 5]},
        {"indptr": [0, 2]},
        {"indices": [0, 7]},
        {"indices": [0, -1]},
        {"indices": [0]},
        {"indices": [0.0, 1.0]},
        {"indices": [[0, 1]]},
        {"shape": [2, 1]},
        {"shape": [10**12, 10**12]},
        {"shape": [-1, 2]},
    ],
    ids=str,
)
def test_sparse_indices_that_point_outside_never_reach_compiled_code(tmp_path: Path, change: dict[str, Any]) -> None:
    matrix = sp.csr_array(np.eye(2))
    sp.save_npz(tmp_path / "data.npz", matrix)
    assert is_sparse(read_points(tmp_path / "data.npz"))
    changed = {key: np.array(value) for key, value in change.items()}
    np.savez(tmp_path / "data.npz", **{**arrays_of((tmp_path / "data.npz").read_bytes()), **changed})
    with pytest.raises(mlp.DataError):
        read_points(tmp_path / "data.npz")
    arrays = arrays_of(honest.saved(mlp.Problem.from_arrays(matrix, 0.0, 1.0)))
    header = json.loads(arrays["header"].tobytes())
    header["blocks"][0]["features"]["shape"] = change.get("shape", [2, 2])
    arrays["header"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    arrays |= {f"block0.features.{key}": array for key, array in changed.items() if key != "shape"}
    with pytest.raises(mlp.FileFormatError):
        load(signed(arrays), tmp_path)


def test_a_map_whose_state_does_not_fit_is_refused(tmp_path: Path) -> None:
    for problem in honest.problems():
        arrays = arrays_of(honest.saved(problem))
        assert same_problem(problem, load(signed(arrays), tmp_path))
        for key in (key for key in arrays if ".state." in key):
            for changed in (np.zeros((3, 3, 3)), np.full(arrays[key].shape, "x"), arrays[key].ravel()[:0]):
                with pytest.raises(mlp.FileFormatError):
                    load(signed({**arrays, key: changed}), tmp_path)


def claimed(shape: str, content: bytes = b"", descr: str = "<f8") -> bytes:
    """An array in numpy's format that claims any shape and type."""
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + content


def packed(members: dict[str, bytes], packing: int = zipfile.ZIP_STORED) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", packing) as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)
    return stream.getvalue()


BOMBS = {
    "shape": claimed("(1000000000, 1000000000)", b"12345678"),
    "overflow": claimed("(4294967296, 4294967296)"),
    "digits": claimed(f"({'9' * 3000},)"),
    "empty columns": claimed("(0, 1000000000000)"),
    "no bytes each": claimed("(1000000000000, 1)", b"", "|S0"),
    "long header": claimed(f"(1,{' ' * 60_000})", b"12345678"),
    "deep header": claimed("(" * 4000),
}


@pytest.mark.parametrize("bomb", [*BOMBS, "zeros"])
@pytest.mark.parametrize("ending", [".npy", ".npz"])
def test_files_that_claim_more_than_they_hold_take_no_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bomb: str, ending: str
) -> None:
    if bomb == "zeros":
        monkeypatch.setattr(npz, "FREE_BYTES", 1 << 20)
        size = 8 << 20
        content = packed({"x": claimed(f"({size // 8}, 1)", bytes(size))}, zipfile.ZIP_DEFLATED)
    else:
        content = BOMBS[bomb] if ending == ".npy" else packed({"x": BOMBS[bomb]})
    path = tmp_path / f"data{ending}"
    path.write_bytes(content)
    tracemalloc.start()
    try:
        with pytest.raises(mlp.DataError):
            read_points(path)
        with pytest.raises(mlp.FileFormatError):
            mlp.Problem.load(path)
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
    finally:
        tracemalloc.stop()


def test_only_what_we_write_is_in_a_saved_problem(tmp_path: Path) -> None:
    """Compressed, doubled, overlapping and foreign members are refused, whatever their content."""
    with zipfile.ZipFile(io.BytesIO(small())) as archive:
        members = {name.removesuffix(".npy"): archive.read(name) for name in archive.namelist()}
    assert same_problem(load(packed(members), tmp_path), load(small(), tmp_path))
    for packing in (zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        with pytest.raises(mlp.FileFormatError):
            load(packed(members, packing), tmp_path)
    stream = io.BytesIO(packed(members))
    with zipfile.ZipFile(stream, "a") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr("caps.npy", members["caps"])
    with pytest.raises(mlp.FileFormatError, match="same name"):
        load(stream.getvalue(), tmp_path)
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)
        archive.getinfo("caps.npy").header_offset = archive.getinfo("weights.npy").header_offset
    with pytest.raises(mlp.FileFormatError, match="next one begins"):
        load(stream.getvalue(), tmp_path)


class Trap:
    """Leaves a file behind when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return Path.touch, (self.path,)


def test_pickles_are_never_run(tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    trap = np.array([Trap(marker)], dtype=object)
    np.load(_bytes_of(trap), allow_pickle=True)
    assert marker.exists(), "the trap works"
    marker.unlink()
    content = _bytes_of(trap).getvalue()
    (tmp_path / "x.npy").write_bytes(content)
    (tmp_path / "pickle.npy").write_bytes(pickle.dumps(Trap(marker)))
    (tmp_path / "x.npz").write_bytes(packed({"x": content}))
    (tmp_path / "sparse.npz").write_bytes(packed({"format": content, "shape": content, "data": content}))
    for name in ("x.npy", "pickle.npy", "x.npz", "sparse.npz"):
        with pytest.raises(mlp.DataError):
            read_points(tmp_path / name)
        with pytest.raises(mlp.FileFormatError):
            mlp.Problem.load(tmp_path / name)
    for name in arrays_of(small()):
        with zipfile.ZipFile(io.BytesIO(small())) as archive:
            members = {member.removesuffix(".npy"): archive.read(member) for member in archive.namelist()}
        with pytest.raises(mlp.FileFormatError, match="pickles"):
            load(packed({**members, name: content}), tmp_path)
    assert not marker.exists()


def _bytes_of(array: np.ndarray) -> io.BytesIO:
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=True)
    stream.seek(0)
    return stream


@pytest.mark.parametrize(
    "tag", ["python/object/apply:pathlib.Path.touch", "python/object/apply:os.system", "python/name:os.system"]
)
def test_python_tags_in_yaml_are_never_run(tmp_path: Path, tag: str) -> None:
    marker = tmp_path / "ran"
    argument = f"touch {marker}" if "system" in tag else f"!!python/object/apply:pathlib.Path ['{marker}']"
    for text in (f"!!{tag} [{argument!r}]", f"features: !!{tag} [{argument}]", f"? !!{tag} [{argument}]\n: 1"):
        with pytest.raises(mlp.SpecError):
            mlp.Spec.from_yaml(text)
    assert not marker.exists()


LAUGHS = "a: &a [x, x]\n" + "".join(f"{b}: &{b} [*{a}, *{a}, *{a}, *{a}]\n" for a, b in pairwise("abcdefghijklmnopq"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (LAUGHS, r"aliases are not read: repeat the value \(line 2\)"),
        ("a: &a [*a]", "aliases are not read"),
        ("a: *b", r"alias \*b, but aliases are not read"),
        ("[" * 100_000, "nested"),
        ("a: " * 1000, "not valid YAML"),
        ("- " * 100_000, "nested"),
        ("? " * 10_000, "nested"),
        ("version: 1\nversion: 1", r"'version' occurs twice \(line 2\)"),
        (f"version: {'1' * 100_000}", "more than 400 digits"),
        (f"version: 0x{'f' * 100_000}", "more than 400 digits"),
        (f"version: 1{':59' * 100_000}", "more than 400 digits"),
        ("version: !!int abc", "'abc' is not of type int"),
        ("version: !!int ''", "'' is not of type int"),
        ("version: !!bool 7", "'7' is not of type bool"),
        ("version: .nan", "version nan"),
        ("version: 2001-99-99", "version '2001-99-99'"),
        ("version: !!timestamp 2001-01-01", "version '2001-01-01'"),
        ("version: !!binary aGk=", "values of type 'binary'"),
        ("!!set {version}", "values of type .*set"),
        ("!!omap [version: 1]", "values of type .*omap"),
        ("<<: {version: 1}", "merge keys"),
        ("? [a]\n: 1", "where a key belongs"),
        ("? {a: b}\n: 1", "where a key belongs"),
        ("a: 1\n---\nb: 2", "found another document"),
        ("a: \0", "not valid YAML"),
        ("a: \ud800", "not valid YAML"),
        ('a: "\\ud800"', "not valid YAML"),
        ("", "holds NoneType"),
        (" " * (33 << 20), "at most 4 MiB"),
    ],
    ids=lambda value: value[:12].strip(),
)
def test_yaml_that_does_harm_elsewhere(text: str, words: str) -> None:
    with pytest.raises(mlp.SpecError, match=words) as caught:
        mlp.Spec.from_yaml(text)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[" * 100_000, "nested too deep"),
        ('{"a":' * 100 + "1" + "}" * 100, "more than 40 levels"),
        ('{"version": 1, "version": 1}', "'version' occurs twice"),
        (f'{{"version": {"1" * 100_000}}}', "digits"),
        (f'{{"version": {"1" * 1000}}}', "more than 400 digits"),
        ('{"tolerance": {"kind": "absolute", "eps": NaN}}', "must be finite"),
        ('{"tolerance": {"kind": "absolute", "eps": 1e999}}', "must be finite"),
        ('{"tolerance": {"kind": "absolute", "eps": 1e-999, "standardised": "\\ud800"}}', "half a character"),
        ('{"\\ud800": 1}', "half a character"),
        ('{"a\\nb": 1}', r"Spec.'a\\nb'"),
        (json.dumps({"constraints": [{"kind": "known", "positives": ["a" * 100_000] + [""] * 10_000}]}), "is too long"),
        (json.dumps({"constraints": [{"kind": "known", "positives": ["a"] * 1000}]}), "and 992 more"),
        (json.dumps({"tolerance": {"kind": "x" * 10_000}}), r"x\.\.\."),
        ("\0", "not valid JSON"),
        ("\ufeff{}", "not valid JSON"),
        (" " * (33 << 20), "at most 32 MiB"),
    ],
    ids=lambda value: value[:12].strip(),
)
def test_json_that_does_harm_elsewhere(text: str, words: str) -> None:
    with pytest.raises(mlp.SpecError, match=words) as caught:
        mlp.Spec.from_json(text)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 1500


def test_plain_yaml_means_what_it_says() -> None:
    text = """
    tolerance: &t {kind: absolute, eps: 5e-1, standardised: yes}  # an anchor that nothing refers to
    constraints:
    - {kind: group_share, groups: [2001-01-01, 2002-02-02], low: {2001-01-01: 0.25}, high: {=: 1}}
    - {kind: moment, features: {kind: linear}, target: [0x10, 1_000], name: !!str 12,
       tolerance: {kind: absolute, eps: 5e-1, standardised: yes}}
    """
    with pytest.raises(mlp.SpecError, match="eps: must be a number"):
        mlp.Spec.from_yaml(text)  # YAML takes 5e-1 for text
    spec = mlp.Spec.from_yaml(text.replace("5e-1", "5.0e-1"))
    tolerance = mlp.Absolute(0.5, standardised=True)
    shares = mlp.GroupShare(["2001-01-01", "2002-02-02"], {"2001-01-01": 0.25}, {"=": 1.0})
    assert spec == mlp.Spec(
        tolerance=tolerance, constraints=[shares, mlp.Moment(mlp.Linear(), [16.0, 1000.0], tolerance, name="12")]
    )
    assert mlp.Spec.from_yaml(spec.to_yaml()) == spec


def test_a_spec_in_another_encoding_is_refused(tmp_path: Path) -> None:
    for name in ("spec.json", "spec.yaml"):
        for content in (b"\xff\xfe{\0}\0", b"\x80", b"\xed\xa0\x80"):
            (tmp_path / name).write_bytes(content)
            with pytest.raises(mlp.SpecError, match="cannot read the spec"):
                mlp.Spec.load(tmp_path / name)
    with pytest.raises(mlp.SpecError, match="cannot read the spec"):
        mlp.Spec.load("a\0b.json")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("quote.csv", b'a,b\n"1,2\n3,4\n'),
        ("ragged.csv", b"a,b\n1,2\n3\n"),
        ("field.csv", b"a\n" + b"1" * 200_000 + b"\n"),
        ("utf16.csv", "a,b\n1,2\n".encode("utf-16")),
        ("latin.csv", b"\xe9,b\n1,2\n"),
        ("blank.csv", b"\n\n\n"),
        ("structured.npy", b""),
        ("dates.npy", b""),
        ("text.npy", b""),
        ("version.npy", b"\x93NUMPY\x09\x00" + bytes(100)),
        ("folder.npz", b""),
        ("other.npz", b""),
        ("short.parquet", b""),
        ("not.parquet", b"PAR1" * 10),
    ],
)
def test_data_files_of_another_making_are_refused(tmp_path: Path, name: str, content: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    if name == "structured.npy":
        np.save(path, np.zeros(3, dtype=[("a", "f8"), ("b", "i4")]))
    elif name == "dates.npy":
        np.save(path, np.zeros((3, 1), dtype="M8[s]"))
    elif name == "text.npy":
        np.save(path, np.array([["1"], ["x"]]))
    elif name == "folder.npz":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("folder/", b"")
    elif name == "other.npz":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("readme.txt", b"hello")
    elif name == "short.parquet":
        path.write_bytes(honest.data_parquet()[0][:-20])
    with pytest.raises(mlp.DataError):
        mlp.Spec().compile(read_points(path), labelled=[0])


def test_a_parquet_file_that_claims_too_many_rows_is_not_read(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    pandas.DataFrame({"a": np.zeros(40_000_000, dtype=np.int8)}).to_parquet(tmp_path / "zeros.parquet", compression="zstd")
    assert (tmp_path / "zeros.parquet").stat().st_size < 200_000
    with pytest.raises(mlp.DataError, match="far more than it has bytes"):
        read_points(tmp_path / "zeros.parquet")


def test_many_columns_two_of_one_name() -> None:
    """Told at once; a look at every pair of them would take minutes."""
    frame = pytest.importorskip("pandas").DataFrame(np.zeros((1, 100_000)), columns=[*map(str, range(99_999)), "99998"])
    with pytest.raises(mlp.DataError, match="'99998'"):
        mlp.Spec().compile(frame, labelled=[0])


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def write(stream: Any) -> None:
        stream.write(b"half of the new")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_atomically(path, write)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_process_that_dies_while_it_saves_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "problem.npz"
    path.write_bytes(small())
    program = """
        import os, sys
        import numpy as np, momentlp as mlp

        def die(stream, **arrays):
            stream.write(b"half of the new")
            stream.flush()
            os._exit(7)

        np.savez = die
        mlp.Problem.from_arrays([[1.0], [1.0], [1.0]], 0.0, 1.0).save(sys.argv[1])
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program), str(path)], check=False, timeout=120)
    assert done.returncode == 7
    assert path.read_bytes() == small()
    assert mlp.Problem.load(path).n_points == 2


def test_the_runner_says_when_atheris_is_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(run.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(sys, "argv", ["run.py", "--seconds", "1"])
    assert run.main() == 2
    assert "pip install atheris" in capsys.readouterr().out


def test_the_runner_runs_a_target_and_finds_nothing(tmp_path: Path) -> None:
    command = [
        sys.executable,
        run.__file__,
        "--engine",
        "random",
        "--seconds",
        "1",
        "--target",
        "data_csv",
        "--out",
        tmp_path,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout
    assert int(done.stdout.split()[1]) > 0
    assert "0 finding(s)" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_the_runner_knows_every_target() -> None:
    assert set(run.NAMES) == set(TARGETS)


def test_a_spec_cannot_name_a_folder_of_pickles() -> None:
    """joblib would read and run whatever lies in the cache of a transformer."""
    table = {"name": "FeatureAgglomeration", "parameters": {"memory": "cache"}}
    with pytest.raises(mlp.SpecError, match="memory"):
        mlp.Spec.from_json(json.dumps({"features": {"kind": "transformer", "transformer": table}}))


@pytest.mark.parametrize("value", [".nan", ".inf", "-.inf"])
def test_a_parameter_that_json_cannot_hold_is_refused(value: str) -> None:
    """It would come back as nothing at all, which is another transformer."""
    text = f"features: {{kind: transformer, transformer: {{name: PCA, parameters: {{n_components: {value}}}}}}}"
    with pytest.raises(mlp.SpecError, match="n_components of PCA is"):
        mlp.Spec.from_yaml(text)

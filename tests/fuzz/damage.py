"""Ways to change a valid file: any bytes of it, or values inside its format, so that the later checks are reached too."""

from __future__ import annotations

import io
import json
import warnings
import zipfile
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pandas as pd
import yaml

from fuzz import valid_files
from momentlp.formats.container import compute_digest
from momentlp.formats.untrusted_text import format_yaml

NUMBERS: list[Any] = [
    0, 1, -1, 2, 3, 0.5, 1e-320, 1e308, -1e308, 2**31, -(2**31), 2**53, 2**63, 10**30, 10**400, float("nan"), float("inf"),
]  # fmt: skip
WORDS: list[Any] = [
    "kind", "linear", "quadratic", "kernel", "spectral", "concat", "transformer", "share", "known", "moment", "absolute",
    "rbf", "poly", "sum", "mean", "dense", "csr", "csc", "PCA", "steps", "maps", "eps", "", "x0", "\0", "é\n", "a" * 300,
    None, True,
]  # fmt: skip
PIECES = [
    b"\0", b"\xff", b"\xed\xa0\x80", b'"', b"'", b",", b"\n", b"- ", b": ", b"[" * 50, b"{" * 50, b"9" * 500, b"&a ", b"*a",
    b"<<: ", b"!!python/name:os.system ", b"!!set ", b"!!binary ", b"!!int ", b"? ", b"---\n", b"1:1:1", b"0x", b"NaN",
    b"1e999", b"\\ud800", b"PK\x01\x02", b"PK\x05\x06", b"|O", b"'<f8'", b"(99999999999,)", b"\xff\xff\xff\xff",
    b"2001-01-01", b"PAR1",
]  # fmt: skip
MPS_FIELDS = [b"1e308", b"-1e308", b"inf", b"-inf", b"nan", b"1e-320", b"1e-999999999", b"-1", b"0", b"x", b"N"]
TYPES = ["f8", "f4", "f2", ">f8", "i8", "i4", "u8", "?", "c16", "S3", "U3", "M8[s]"]


def any_bytes(data: bytes, random: Random) -> bytes:
    """Change, cut, repeat or insert a few bytes anywhere."""
    changed_bytes = bytearray(data or b"\0")
    for _ in range(random.choice((1, 1, 2, 5))):
        start, length = random.randrange(len(changed_bytes) + 1), random.choice((1, 1, 2, 4, 30))
        kind = random.randrange(6)
        if kind == 0:
            changed_bytes[start : start + length] = random.randbytes(length)
        elif kind == 1:
            del changed_bytes[start : start + length]
        elif kind == 2:
            changed_bytes[start:start] = random.choice(PIECES)
        elif kind == 3:
            del changed_bytes[start:]
        elif kind == 4:
            changed_bytes[start:start] = changed_bytes[start : start + 8 * length]
        elif start < len(changed_bytes):
            changed_bytes[start] ^= 1 << random.randrange(8)
        changed_bytes = changed_bytes or bytearray(b"\0")
    return bytes(changed_bytes)


def any_tree(tree: Any, random: Random) -> Any:
    """Change one value somewhere in tables and lists, or what holds it."""
    if isinstance(tree, dict) and tree and random.random() < 0.85:
        key = random.choice(list(tree))
        kind = random.randrange(8)
        if kind == 0:
            return {name: value for name, value in tree.items() if name != key}
        if kind == 1:
            return {**tree, str(random.choice(WORDS)): tree[key]}
        return {**tree, key: any_tree(tree[key], random)}
    if isinstance(tree, list) and tree and random.random() < 0.85:
        position = random.randrange(len(tree))
        kind = random.randrange(6)
        if kind == 0:
            return tree[:position] + tree[position + 1 :]
        if kind == 1:
            return [*tree, tree[position]]
        return [*tree[:position], any_tree(tree[position], random), *tree[position + 1 :]]
    nested: Any = tree
    for _ in range(random.choice((1, 1, 2, 60))):
        nested = [nested]
    other = random.choice(valid_files.TREES)
    return random.choice(
        [random.choice(NUMBERS), random.choice(WORDS), nested, {"kind": tree}, [], {}, other, other.get("features")]
    )


def spec_json(data: bytes, random: Random) -> bytes:
    return _inside_or_bytes(data, random, lambda: json.dumps(any_tree(json.loads(data), random)).encode())


def spec_yaml(data: bytes, random: Random) -> bytes:
    return _inside_or_bytes(data, random, lambda: format_yaml(any_tree(yaml.safe_load(data), random)).encode())


def problem_file(data: bytes, random: Random) -> bytes:
    """Change arrays or the header of a saved problem, and give it a new digest."""

    def inside() -> bytes:
        arrays = _arrays(data) or _arrays(random.choice(valid_files.problem_file()))
        arrays.pop("digest", None)
        for _ in range(random.choice((1, 1, 2))):
            if random.random() < 0.5 and "header" in arrays:
                tree = json.loads(arrays["header"].tobytes())
                arrays["header"] = np.frombuffer(json.dumps(any_tree(tree, random)).encode(), dtype=np.uint8)
            else:
                arrays = any_array(arrays, random)
        return _zip_arrays({**arrays, "digest": compute_digest(arrays)}, random)

    return _inside_or_bytes(data, random, inside)


def problem_mps(data: bytes, random: Random) -> bytes:
    """Exchange, remove or repeat a few fields and lines, and sometimes bytes, of an MPS file."""
    lines = data.split(b"\n")
    for _ in range(random.choice((0, 1, 1, 2, 4))):
        at, other = random.randrange(len(lines)), random.randrange(len(lines))
        fields, donors = lines[at].split(), lines[other].split()
        kind = random.randrange(5)
        if kind == 0 and fields and donors:
            fields[random.randrange(len(fields))] = random.choice(donors)
            lines[at] = b" " + b" ".join(fields)
        elif kind == 1:
            lines[at], lines[other] = lines[other], lines[at]
        elif kind == 2 and len(lines) > 1:
            del lines[at]
        elif kind == 3:
            lines.insert(at, lines[other])
        elif fields:
            fields[-1] = random.choice(MPS_FIELDS)
            lines[at] = b" " + b" ".join(fields)
    data = b"\n".join(lines)
    return any_bytes(data, random) if random.random() < 0.3 else data


def any_array(arrays: dict[str, np.ndarray], random: Random) -> dict[str, np.ndarray]:
    """Change one array of several: its values, its type, its shape, its name, or whether it is there."""
    name, other = random.choice(list(arrays)), random.choice(list(arrays))
    array, kind = arrays[name], random.randrange(9)
    if kind == 0:
        return {key: value for key, value in arrays.items() if key != name}
    if kind == 1:
        return {**arrays, f"{name}{random.choice(('x', '.indptr', '.shape', '.data'))}": array}
    if kind == 2:
        changed = arrays[other]
    elif kind == 3:
        changed = array.astype(random.choice(TYPES))
    elif kind == 4:
        changed = array.reshape(random.choice([(-1,), (1, -1), (-1, 1), array.shape[::-1], (*array.shape, 1)]))
    elif kind == 5:
        changed = np.resize(array, random.choice([(), (0,), (1,), (3, 3), (array.size + 1,), (max(array.size - 1, 0),)]))
    elif array.size and array.dtype.kind in "biuf":
        changed = array.copy()
        value = random.choice([*NUMBERS[:-3], *NUMBERS[-2:]])
        changed.flat[random.randrange(array.size)] = value
    else:
        changed = np.array(random.choice([b"csr", b"csc", b"coo", b"dia", b"bsr", b"x"]))
    return {**arrays, name: changed}


def data_npz(data: bytes, random: Random) -> bytes:
    def inside() -> bytes:
        arrays = _arrays(data) or _arrays(random.choice(valid_files.data_npz()))
        return _zip_arrays(any_array(arrays, random), random)

    return _inside_or_bytes(data, random, inside)


def data_npy(data: bytes, random: Random) -> bytes:
    def inside() -> bytes:
        array = np.load(io.BytesIO(data))
        stream = io.BytesIO()
        np.save(stream, any_array({"x": array}, random).get("x", array))
        return stream.getvalue()

    return _inside_or_bytes(data, random, inside)


def data_csv(data: bytes, random: Random) -> bytes:
    def inside() -> bytes:
        rows = [line.split(b",") for line in data.splitlines()]
        row = random.choice(rows)
        row[random.randrange(len(row))] = random.choice([*PIECES, *(str(number).encode() for number in NUMBERS)])
        return b"\n".join(b",".join(row) for row in rows)

    return _inside_or_bytes(data, random, inside)


def data_parquet(data: bytes, random: Random) -> bytes:
    def inside() -> bytes:
        size = random.choice((0, 1, 5))
        columns: list[list[Any]] = [
            [1.5] * size,
            [None] * size,
            ["x"] * size,
            [[1]] * size,
            [{"a": 1}] * size,
            [b"\0"] * size,
        ]
        columns += [[pd.Timestamp(0)] * size, [pd.Timedelta(1)] * size, [True] * size, [2**63] * size]
        chosen = random.choices(columns, k=random.choice((0, 1, 3)))
        stream = io.BytesIO()
        pd.DataFrame({str(random.choice(WORDS)): column for column in chosen}).to_parquet(stream)
        return stream.getvalue()

    return _inside_or_bytes(data, random, inside)


def _inside_or_bytes(data: bytes, random: Random, inside: Callable[[], bytes]) -> bytes:
    """Change values inside the format, or bytes; bytes if the file is not of its format any more."""
    if random.random() < 0.7:
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                return inside()
        except Exception:  # noqa: BLE001  a file that was changed before may no longer be of its format
            return any_bytes(data, random)
    return any_bytes(data, random)


def _arrays(data: bytes) -> dict[str, np.ndarray]:
    try:
        with np.load(io.BytesIO(data)) as archive:
            return dict(archive)
    except Exception:  # noqa: BLE001  a changed file may raise any error
        return {}


def _zip_arrays(arrays: dict[str, np.ndarray], random: Random) -> bytes:
    """Write a .npz, sometimes with one member changed, compressed, or there twice."""
    packing, is_changed, stream = random.choice((0, 0, 0, 0, 8, 14)), random.random() < 0.2, io.BytesIO()
    names = [*arrays, *random.choices(list(arrays), k=random.random() < 0.05)]
    changed = random.choice(names)
    with zipfile.ZipFile(stream, "w", packing) as archive:
        for name in names:
            content = io.BytesIO()
            np.save(content, arrays[name], allow_pickle=False)
            written = content.getvalue()
            if name == changed and is_changed:
                written = any_bytes(written[:128], random) + written[128:]
            archive.writestr(f"{name}.npy", written)
    return stream.getvalue()

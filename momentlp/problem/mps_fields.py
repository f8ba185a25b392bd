"""Lines of an MPS file and the fields on them, in free and in fixed format.

A line that begins in the first column is the heading of a section; a line that begins with a blank holds entries of the
section. A line that begins with ``*`` is a comment, and so is the rest of a line from a field that begins with ``$``.

Free format separates fields by white space. Fixed format has six fields, at the columns of a punched card, so names may hold
blanks. In both, the name of a set (in ``RHS``, ``RANGES`` and ``BOUNDS``) may be missing. Therefore :func:`split_free` and
:func:`split_fixed` return the fields of a section always in the same order::

    ROWS            type, row
    COLUMNS         column, row, value [, row, value]
    RHS, RANGES     set or "", row, value [, row, value]
    BOUNDS          type, set or "", column, value or ""
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import IO

from momentlp.errors import FileFormatError

__all__ = [
    "MARKER", "LineError", "Splitter", "parse_bound", "parse_decimal", "parse_number", "read_lines", "show", "split_fixed",
    "split_free",
]  # fmt: skip

MAX_LINE_BYTES = 1 << 12  # three names of 255 characters and two numbers fit
MAX_FILE_BYTES = 1 << 32  # about a hundred million entries
MAX_SHOWN = 60  # characters of a field in a message
MARKER = "'MARKER'"
BOUNDS_WITHOUT_VALUE = {"FR", "MI", "PL", "BV"}
FIXED_FIELDS = ((1, 3), (4, 12), (14, 22), (24, 36), (39, 47), (49, 61))  # columns 2-3, 5-12, 15-22, 25-36, 40-47 and 50-61
MAX_FIELDS = 5
NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eEdD][+-]?[0-9]{1,9})?")
INFINITY = re.compile(r"([+-]?)inf(?:inity)?", re.IGNORECASE)
MIN_INFINITE_BOUND = 1e30  # a bound of this size stands for none, as in most solvers
CONTROL = re.compile("[\x00-\x08\x0a-\x1f\x7f]")

Splitter = Callable[[str, str], list[str]]


class LineError(FileFormatError):
    """What is wrong with one line of a file; the caller adds the path."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(f"line {line}: {reason}")
        self.line, self.reason = line, reason


def show(text: str) -> str:
    """Return a field in quotes for a message, cut to a limited length."""
    return repr(text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}...")


def read_lines(stream: IO[bytes]) -> Iterator[tuple[int, str]]:
    """Yield the number and the text of each line that is neither blank nor a comment.

    Raises
    ------
    LineError
        If a line is not text or too long, or the file is larger than the limit.
    """
    number = n_bytes = 0
    while data := stream.readline(MAX_LINE_BYTES + 2):
        number, n_bytes = number + 1, n_bytes + len(data)
        data = data.rstrip(b"\r\n")
        if len(data) > MAX_LINE_BYTES:
            raise LineError(number, f"it has more than {MAX_LINE_BYTES} bytes")
        if n_bytes > MAX_FILE_BYTES:
            raise LineError(number, f"the file has more than {MAX_FILE_BYTES >> 30} GiB")
        text = _decode(data, number)
        if text and not text.isspace() and not text.lstrip().startswith("*"):
            yield number, text


def _decode(data: bytes, number: int) -> str:
    try:
        text = data.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        raise LineError(number, f"it is not text in UTF-8: it holds the byte 0x{data[error.start]:02x}") from None
    if found := CONTROL.search(text):
        raise LineError(number, f"it is not text: it holds the byte 0x{ord(found.group()):02x}")
    return text


def split_free(text: str, section: str) -> list[str]:
    """Split a line of entries at white space.

    Raises
    ------
    ValueError
        If the section cannot have that number of fields.
    """
    fields = text.split()
    comment = next((at for at, field in enumerate(fields) if at and field.startswith("$")), len(fields))
    fields = fields[:comment]
    if section in ("RHS", "RANGES") and len(fields) in (2, 4):
        return ["", *fields]
    if section == "BOUNDS":
        return _order_bound(fields)
    return _check_count(fields, section)


def _order_bound(fields: list[str]) -> list[str]:
    has_value = fields[0].upper() not in BOUNDS_WITHOUT_VALUE
    if len(fields) == 2 + has_value:
        fields.insert(1, "")
    if len(fields) == 3 and not has_value:
        fields.append("")
    return _check_count(fields, "BOUNDS")


def split_fixed(text: str, section: str) -> list[str]:
    """Cut a line of entries at the columns of fixed format.

    Raises
    ------
    ValueError
        If something stands between these columns, or the section cannot have that number of fields.
    """
    if section == "COLUMNS" and text.split()[1:2] == [MARKER]:  # which stand at other columns in most files
        return _check_count(text.split(), section)
    if "\t" in text:
        raise ValueError("it holds a tab, which fixed format does not allow")
    comment = next((start for start, _ in (FIXED_FIELDS[2], FIXED_FIELDS[4]) if text[start : start + 1] == "$"), len(text))
    text = text[:comment]
    fields = [text[start:end].strip() for start, end in FIXED_FIELDS]
    ends = [0, *(end for _, end in FIXED_FIELDS)]
    if any(text[end:start].strip() for end, (start, _) in zip(ends, FIXED_FIELDS, strict=False)):
        raise ValueError("it does not keep to the columns of fixed format")
    if section == "ROWS":
        return _check_count([field for field in fields if field], section)
    if section == "BOUNDS":
        return _check_count(fields[:4], section)
    filled = 3 if not (fields[4] or fields[5]) else MAX_FIELDS
    return _check_count(fields[1 : 1 + filled], section)


def _check_count(fields: list[str], section: str) -> list[str]:
    expected = {"ROWS": (2,), "BOUNDS": (4,)}.get(section, (3, MAX_FIELDS))
    if len(fields) not in expected:
        raise ValueError(f"it has {len(fields)} field(s), which {section} does not allow")
    return fields


def parse_number(text: str) -> float:
    """Return a finite number; the exponent may begin with ``D``, as Fortran writes it.

    Raises
    ------
    ValueError
        If the text is not a number, or the number is not finite.
    """
    if NUMBER.fullmatch(text) is None:
        raise ValueError(f"{show(text)} is not a number that is allowed here")
    value = float(_with_e(text))
    if value - value != 0:  # quicker than math.isfinite, for every entry of a matrix
        raise ValueError(f"{show(text)} is too large for a float")
    return value


def parse_bound(text: str) -> float:
    """Return a bound of a column: a number, or an infinity for a bound of 1e30 or more and for ``inf``.

    Raises
    ------
    ValueError
        If the text is neither.
    """
    if infinity := INFINITY.fullmatch(text):
        return float(f"{infinity.group(1)}inf")
    if NUMBER.fullmatch(text) is None:
        raise ValueError(f"{show(text)} is not a number")
    value = float(_with_e(text))
    return value if abs(value) < MIN_INFINITE_BOUND else float("inf") * (1 if value > 0 else -1)


def parse_decimal(text: str) -> Decimal:
    """Return a finite number with all the digits of its text.

    Raises
    ------
    ValueError
        If the text is not a number, or the number is not finite as a float.
    """
    parse_number(text)
    return Decimal(_with_e(text))


def _with_e(text: str) -> str:
    return text.replace("D", "E").replace("d", "e")

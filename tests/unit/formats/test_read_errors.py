"""The reason why a file cannot be read is one line of limited length."""

from __future__ import annotations

import pytest

from momentlp.formats.read_errors import MAX_REASON, READ_ERRORS, short_reason


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ValueError("bad header."), "bad header"),
        (ValueError("first line\n  second\tline"), "first line second line"),
        (EOFError(), "EOFError"),
        (KeyError("caps"), "'caps'"),
    ],
)
def test_a_reason_is_one_line_without_a_full_stop(error: Exception, reason: str) -> None:
    assert short_reason(error) == reason


def test_a_long_reason_is_cut() -> None:
    assert short_reason(ValueError("x" * 10_000)) == "x" * MAX_REASON + "..."


def test_errors_of_the_program_are_not_taken_for_those_of_a_file() -> None:
    assert not any(issubclass(kind, READ_ERRORS) for kind in (AssertionError, MemoryError, KeyboardInterrupt, ImportError))

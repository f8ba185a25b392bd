"""Arguments are returned as plain Python objects, and a wrong one is refused by its name and value."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from momentlp.errors import OptionError
from momentlp.runtime.argument_checks import check_bool, check_function, check_integer, check_number, check_progress


@pytest.mark.parametrize("value", [2, 2.0, np.float32(2), np.int64(2), Fraction(2)])
def test_any_real_number_is_returned_as_a_float(value: Any) -> None:
    number = check_number("tol", value, above=0, minimum=2, maximum=2)
    assert (type(number), number) == (float, 2.0)


@pytest.mark.parametrize("value", [2, np.int8(2), np.uint64(2)])
def test_any_integer_is_returned_as_an_int(value: Any) -> None:
    number = check_integer("repeat", value, minimum=2, maximum=2)
    assert (type(number), number) == (int, 2)


def test_infinity_is_a_number_only_where_it_is_allowed() -> None:
    assert check_number("bound", math.inf, infinite=True) == math.inf
    with pytest.raises(OptionError):
        check_number("bound", math.inf)
    with pytest.raises(OptionError):
        check_number("bound", -math.inf, minimum=0, infinite=True)


@pytest.mark.parametrize("value", [True, np.True_, math.nan, "1", None, 1j, [1.0], np.ones(1)])
def test_other_objects_are_not_numbers(value: Any) -> None:
    with pytest.raises(OptionError, match=r"^tol must be a number, not "):
        check_number("tol", value, infinite=True)


@pytest.mark.parametrize("value", [True, np.True_, 2.0, math.nan, "1", None, [1]])
def test_other_objects_are_not_integers(value: Any) -> None:
    with pytest.raises(OptionError, match=f"^repeat must be an integer, not {re.escape(repr(value))}"):
        check_integer("repeat", value)


@pytest.mark.parametrize(
    ("check", "value", "limits", "message"),
    [
        (check_number, 0, {"above": 0}, "x must be a number above 0, not 0."),
        (check_number, -1, {"minimum": 0}, "x must be a number of at least 0, not -1."),
        (check_number, 2, {"maximum": 1}, "x must be a number of at most 1, not 2."),
        (check_number, 2, {"above": 0, "maximum": 1}, "x must be a number above 0 and at most 1, not 2."),
        (check_number, 2, {"minimum": 0, "maximum": 1}, "x must be a number of at least 0 and at most 1, not 2."),
        (check_number, 0, {"above": 0, "hint": "Try 1."}, "x must be a number above 0, not 0. Try 1."),
        (check_integer, 0, {"minimum": 1}, "x must be an integer of at least 1, not 0."),
        (check_integer, 3, {"maximum": 2}, "x must be an integer of at most 2, not 3."),
        (check_integer, 3, {"minimum": 1, "maximum": 2}, "x must be an integer from 1 to 2, not 3."),
        (check_integer, 0, {"minimum": 1, "hint": "Try 1."}, "x must be an integer of at least 1, not 0. Try 1."),
    ],
)
def test_a_number_outside_its_range_is_refused_with_the_range(
    check: Callable[..., Any], value: int, limits: dict[str, Any], message: str
) -> None:
    with pytest.raises(OptionError) as caught:
        check("x", value, **limits)
    assert str(caught.value) == message


def test_a_switch_is_true_or_false_and_nothing_else() -> None:
    assert check_bool("verbose", np.False_) is False
    assert check_bool("verbose", True) is True
    for value in (0, 1, None, "yes"):
        with pytest.raises(OptionError, match=f"^verbose must be True or False, not {value!r}"):
            check_bool("verbose", value)


def test_a_function_must_be_callable() -> None:
    assert check_function("log", print, "a line") is print
    with pytest.raises(OptionError, match=r"^log must be a function of a line, not 7\.$"):
        check_function("log", 7, "a line")


def test_progress_is_a_switch_or_a_function() -> None:
    assert [check_progress("progress", value) for value in (True, False, print)] == [True, False, print]
    for value in (None, 1, "yes"):
        with pytest.raises(OptionError, match=f"^progress must be True, False or a function .* not {value!r}"):
            check_progress("progress", value)

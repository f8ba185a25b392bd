"""Values are packed for other processes, with tokens for what stays behind."""

from __future__ import annotations

import sys
from functools import partial
from operator import add

import numpy as np
import pytest

from momentlp.errors import ExtraMissingError
from momentlp.runtime.pickling import pack, unpack


def no_token(_: object) -> None:
    return None


def double(number: int) -> int:
    return 2 * number


@pytest.fixture
def _no_cloudpickle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cloudpickle", None)


def test_an_object_with_a_token_stays_behind() -> None:
    large = np.zeros(100_000)
    content, buffers = packed = pack({"large": large, "small": 1}, lambda thing: "token" if thing is large else None)
    assert len(content) + sum(buffer.raw().nbytes for buffer in buffers) < 1000
    found = unpack(packed, {"token": large}.__getitem__)
    assert found["large"] is large
    assert found["small"] == 1


def test_arrays_are_buffers_outside_of_the_pickle() -> None:
    array = np.arange(100_000.0)
    content, buffers = pack(array, no_token)
    assert len(content) < 1000
    np.testing.assert_array_equal(unpack((content, buffers), no_token), array)


def test_cloudpickle_sends_functions_that_cannot_be_imported() -> None:
    pytest.importorskip("cloudpickle")
    factor = 3
    assert unpack(pack(lambda number: factor * number, no_token), no_token)(7) == 21


@pytest.mark.usefixtures("_no_cloudpickle")
def test_without_cloudpickle_importable_functions_can_be_sent() -> None:
    assert unpack(pack(partial(add, 1), no_token), no_token)(2) == 3
    assert unpack(pack(double, no_token), no_token) is double


@pytest.mark.usefixtures("_no_cloudpickle")
def test_without_cloudpickle_a_lambda_is_refused_with_its_line() -> None:
    with pytest.raises(ExtraMissingError, match=r"<lambda> \(line \d+ of .*test_pickling.py\).*pip install cloudpickle"):
        pack([lambda: 1], no_token)


@pytest.mark.usefixtures("_no_cloudpickle")
def test_without_cloudpickle_local_classes_and_those_of_the_script_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    class Local:
        pass

    with pytest.raises(ExtraMissingError, match=r"<locals>\.Local cannot be imported"):
        pack(Local(), no_token)
    monkeypatch.setattr(double, "__module__", "__main__")
    with pytest.raises(ExtraMissingError, match=r"double .*cannot be imported"):
        pack(double, no_token)

"""Messages arrive as they were sent, and every error can be sent."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
from helpers.misbehaving import UnpicklableError

from momentlp.errors import SolverError
from momentlp.runtime.messages import error_text, picklable_error, receive, send


def transfer(*messages: Any) -> io.BytesIO:
    stream = io.BytesIO()
    for message in messages:
        send(stream, message)
    stream.seek(0)
    return stream


def test_messages_arrive_in_order_and_then_the_stream_ends() -> None:
    stream = transfer(("one", 1), None, "three")
    assert [receive(stream) for _ in range(3)] == [("one", 1), None, "three"]
    with pytest.raises(EOFError):
        receive(stream)


def test_arrays_arrive_with_their_order_and_can_be_written() -> None:
    array = np.asfortranarray(np.arange(12.0).reshape(3, 4))
    received = receive(transfer({"array": array, "empty": np.empty((0, 2))}))
    np.testing.assert_array_equal(received["array"], array)
    assert received["array"].flags.f_contiguous
    assert received["array"].flags.writeable
    assert received["empty"].shape == (0, 2)


def test_an_array_is_not_copied_into_the_pickle() -> None:
    class Recording(io.BytesIO):
        sizes: list[int] = []  # noqa: RUF012  one instance in this test

        def write(self, data: Any) -> int:
            self.sizes.append(memoryview(data).nbytes)
            return super().write(data)

    stream = Recording()
    send(stream, np.zeros(1000))
    assert 8000 in stream.sizes


@pytest.mark.parametrize("length", [1, 8, 20, -1])
def test_a_message_that_is_cut_off_is_an_end_of_file(length: int) -> None:
    content = transfer(np.arange(100.0)).getvalue()
    with pytest.raises(EOFError):
        receive(io.BytesIO(content[:length]))


def test_parts_that_come_in_pieces_are_put_together() -> None:
    class Slow(io.BytesIO):
        def readinto(self, buffer: Any) -> int:
            return super().readinto(memoryview(buffer)[:3])

    assert receive(Slow(transfer(("text", list(range(50)))).getvalue())) == ("text", list(range(50)))


def test_an_error_of_momentlp_is_sent_as_it_is() -> None:
    error = SolverError("the basis is singular.")
    copy = picklable_error(error)
    assert copy is not error
    assert (type(copy), str(copy)) == (SolverError, "the basis is singular.")
    assert not hasattr(copy, "__notes__")


def test_any_other_error_is_sent_with_its_traceback() -> None:
    try:
        raise KeyError("basis")
    except KeyError as error:
        copy = picklable_error(error)
    assert isinstance(copy, KeyError)
    assert 'raise KeyError("basis")' in copy.__notes__[0]


def test_an_error_that_cannot_be_pickled_is_sent_as_text() -> None:
    copy = picklable_error(UnpicklableError("this", "that"))
    assert type(copy) is RuntimeError
    assert str(copy) == "UnpicklableError: this and that"


def test_an_error_can_be_copied_in_another_way() -> None:
    other = ValueError("a copy")
    assert picklable_error(SolverError("the original."), lambda _: other) is other


def test_the_text_of_an_error_names_its_class() -> None:
    assert error_text(ValueError("mean is empty.")) == "ValueError: mean is empty."

"""Messages between a process and its workers, over pipes.

A message is a pickle. Reading a pickle can run code. That is safe here: both ends run the same code for the same user, and
the pipes have no name by which another process could write to them.
"""

from __future__ import annotations

import pickle
import struct
import traceback
from collections.abc import Callable
from typing import IO, Any

from momentlp.errors import MomentLPError

__all__ = ["error_text", "picklable_error", "receive", "send"]

LENGTH = struct.Struct("<Q")  # a count or a number of bytes: 64 bits, little-endian


def send(stream: IO[bytes], message: Any) -> None:
    """Write a message to a stream.

    The format is the number of parts, the length of each part in bytes, and the parts. The first part is the pickle. Every
    array of the message is a part of its own, which is written without a copy.
    """
    buffers: list[pickle.PickleBuffer] = []
    head = pickle.dumps(message, protocol=5, buffer_callback=buffers.append)
    parts = [memoryview(head), *(buffer.raw() for buffer in buffers)]
    stream.write(LENGTH.pack(len(parts)) + b"".join(LENGTH.pack(part.nbytes) for part in parts))
    for part in parts:
        stream.write(part)
    stream.flush()


def receive(stream: IO[bytes]) -> Any:
    """Read a message from a stream.

    Raises
    ------
    EOFError
        If the other end closed the pipe, before the message or in the middle of it.
    """
    (n_parts,) = LENGTH.unpack(_read_exactly(stream, LENGTH.size))
    lengths = [LENGTH.unpack(_read_exactly(stream, LENGTH.size))[0] for _ in range(n_parts)]
    head, *buffers = [_read_exactly(stream, length) for length in lengths]
    return pickle.loads(head, buffers=buffers)  # noqa: S301  both ends are ours: see the top of this module


def picklable_error(error: BaseException, copy: Callable[[BaseException], BaseException] | None = None) -> BaseException:
    """Return a copy of an error that can be sent to another process.

    An error that is not a :class:`~momentlp.errors.MomentLPError` is probably a bug: its traceback is added as a note.

    Parameters
    ----------
    error : exception
    copy : callable, optional
        Pickles and unpickles an error. The default uses the pickle module.

    Returns
    -------
    exception
        The copy, or a RuntimeError with the error's text if the error cannot be pickled.

    Examples
    --------
    >>> from momentlp.errors import SolverError
    >>> picklable_error(SolverError("the basis is singular."))
    SolverError('the basis is singular.')
    """
    if not isinstance(error, MomentLPError):
        error.add_note("In the worker process:\n" + "".join(traceback.format_exception(error)))
    try:
        return copy(error) if copy is not None else pickle.loads(pickle.dumps(error))  # noqa: S301  our own pickle
    except Exception:  # noqa: BLE001  pickling the error of another package can raise anything
        return RuntimeError(error_text(error))


def error_text(error: BaseException) -> str:
    """Return the class of an error and its message.

    Examples
    --------
    >>> error_text(ValueError("mean is empty."))
    'ValueError: mean is empty.'
    """
    return f"{type(error).__name__}: {error}"


def _read_exactly(stream: Any, length: int) -> bytearray:
    data = bytearray(length)
    view, n_read = memoryview(data), 0
    while n_read < length:
        n_new = stream.readinto(view[n_read:])
        if not n_new:
            raise EOFError
        n_read += n_new
    return data

"""Messages between processes over pipes, and errors that can be sent in them.

Messages are pickles. Reading a pickle can run code, but both ends run the same code for the same user, and the pipes have no
name by which another process could write to them.
"""

from __future__ import annotations

import pickle
import struct
import sys
import threading
import traceback
import warnings
from collections.abc import Callable
from typing import IO, Any

from momentlp.errors import MomentLPError, SolverError
from momentlp.runtime.worker_process import exit_immediately, flush_output

__all__ = ["LENGTH", "MessageChannel", "error_text", "picklable_error", "receive", "send"]

LENGTH = struct.Struct("<Q")


def send(stream: IO[bytes], message: Any) -> None:
    """Write a message: the number of parts, their lengths, the parts. Arrays are parts of their own, sent as they lie."""
    buffers: list[pickle.PickleBuffer] = []
    head = pickle.dumps(message, protocol=5, buffer_callback=buffers.append)
    parts = [memoryview(head), *(buffer.raw() for buffer in buffers)]
    stream.write(LENGTH.pack(len(parts)) + b"".join(LENGTH.pack(part.nbytes) for part in parts))
    for part in parts:
        stream.write(part)
    stream.flush()


def receive(stream: IO[bytes]) -> Any:
    """Read a message; raise EOFError if the other end is gone."""
    (count,) = LENGTH.unpack(_read(stream, LENGTH.size))
    lengths = [LENGTH.unpack(_read(stream, LENGTH.size))[0] for _ in range(count)]
    head, *buffers = [_read(stream, length) for length in lengths]
    return pickle.loads(head, buffers=buffers)  # noqa: S301  both ends are ours: see the top of this module


def _read(stream: Any, length: int) -> bytearray:
    data = bytearray(length)
    view, filled = memoryview(data), 0
    while filled < length:
        got = stream.readinto(view[filled:])
        if not got:
            raise EOFError
        filled += got
    return data


class MessageChannel:
    """The line to the parent; a solver may use it from several threads."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream, self._lock = stream, threading.Lock()

    def send(self, kind: str, *content: Any) -> None:
        """Send a message; end if nobody is there to read it."""
        with self._lock:
            try:
                send(self._stream, (kind, *content))
            except OSError:
                exit_immediately(1)  # the parent is gone

    def caller(self, kind: str) -> Callable[[Any], None]:
        """Return a function that calls the user's function of that name, in the parent."""
        return lambda content: self.send(kind, content)

    def forward_warnings(self) -> None:
        """Send every warning on: the filters of the parent decide what becomes of it."""

        def show(message: Warning | str, category: type[Warning], filename: str, lineno: int, *_: Any, **__: Any) -> None:
            known = category if _importable(category) else UserWarning
            self.send("warning", str(message), known, filename, lineno)

        warnings.simplefilter("always")
        warnings.showwarning = show

    def answer(self, backend: str, answer: Any) -> None:
        """Send what the backend returned, or say that it cannot be sent."""
        flush_output()
        try:
            pickle.loads(pickle.dumps(answer))  # noqa: S301  our own
        except Exception as error:  # noqa: BLE001  whatever pickle or a class of the backend's raises
            self.fail(
                SolverError(f"backend {backend!r} returned what cannot leave its worker process ({error_text(error)}).")
            )
        else:
            self.send("done", answer)

    def fail(self, error: Exception) -> None:
        """Send an error."""
        flush_output()
        self.send("error", picklable_error(error))


def picklable_error(error: BaseException, copied: Callable[[BaseException], BaseException] | None = None) -> BaseException:
    """Return a copy of an error, as it will arrive, with where it came from if it is a bug; its text, if it cannot be sent.

    Parameters
    ----------
    error : exception
    copied : callable, optional
        Sends an object to and fro; by pickle, if not given.

    Examples
    --------
    >>> picklable_error(SolverError("the basis is lost."))
    SolverError('the basis is lost.')
    """
    if not isinstance(error, MomentLPError):
        error.add_note("In the worker process:\n" + "".join(traceback.format_exception(error)))
    try:
        return copied(error) if copied is not None else pickle.loads(pickle.dumps(error))  # noqa: S301  our own
    except Exception:  # noqa: BLE001  an error class may refuse to be pickled in any way
        return RuntimeError(error_text(error))


def error_text(error: BaseException) -> str:
    """Return the kind of an error and what it says.

    Examples
    --------
    >>> error_text(SolverError("the basis is lost."))
    'SolverError: the basis is lost.'
    """
    return f"{type(error).__name__}: {error}"


def _importable(category: type[Warning]) -> bool:
    return getattr(sys.modules.get(category.__module__), category.__qualname__, None) is category

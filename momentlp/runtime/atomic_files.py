"""Files: written so that a reader never sees half of one, and what goes wrong in reading one that is not whole."""

from __future__ import annotations

import os
import struct
import uuid
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from momentlp.errors import DataError

__all__ = ["READ_ERRORS", "short_reason", "write_atomically"]

READ_ERRORS = (
    OSError, EOFError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RuntimeError, struct.error,
    zipfile.BadZipFile, zlib.error,
)  # fmt: skip
"""What Python, numpy and scipy raise over a file that is not what it says it is."""

LONGEST_REASON = 300  # characters


def write_atomically(path: Path, write: Callable[[IO[bytes]], Any]) -> None:
    """Write to a temporary file beside ``path`` and move it there in one step; on any error ``path`` stays as it was."""
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
    if not path.parent.is_dir():
        raise DataError(f"cannot write {str(path)!r}: there is no folder {str(path.parent)!r}.")
    try:
        with temporary.open("xb") as stream:
            write(stream)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def short_reason(error: BaseException) -> str:
    """Say in one line why a file cannot be read; what others raise may quote half of it."""
    text = " ".join(str(error).split()).removesuffix(".") or type(error).__name__
    return text if len(text) <= LONGEST_REASON else f"{text[:LONGEST_REASON]}..."

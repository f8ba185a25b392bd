"""Files: written so that a reader never sees half of one, and what goes wrong in reading one that is not whole."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from momentlp.errors import DataError

__all__ = ["write_atomically"]

"""What Python, numpy and scipy raise over a file that is not what it says it is."""


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

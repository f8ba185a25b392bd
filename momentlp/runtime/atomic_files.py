"""Write files so that a reader never sees half of one."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from momentlp.errors import DataError

__all__ = ["write_atomically"]


def write_atomically(path: Path, write: Callable[[IO[bytes]], Any]) -> None:
    """Write a file in one step: the new content replaces the old one completely, or not at all.

    The content is written to a temporary file in the same folder, which then replaces ``path``. After an error the temporary
    file is removed and ``path`` is as it was.

    Parameters
    ----------
    path : Path
    write : callable
        Called with the temporary file, opened in binary mode; writes the content.

    Raises
    ------
    DataError
        If the folder does not exist.
    """
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

"""What goes wrong while a damaged file is read, and how to say so in one line."""

from __future__ import annotations

import struct
import zipfile
import zlib

__all__ = ["LONGEST_REASON", "READ_ERRORS", "short_reason"]

READ_ERRORS = (
    OSError, EOFError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RuntimeError, struct.error,
    zipfile.BadZipFile, zlib.error,
)  # fmt: skip
LONGEST_REASON = 300  # characters


def short_reason(error: BaseException) -> str:
    """Say in one line why a file cannot be read; what others raise may quote half of it."""
    text = " ".join(str(error).split()).removesuffix(".") or type(error).__name__
    return text if len(text) <= LONGEST_REASON else f"{text[:LONGEST_REASON]}..."

"""The errors that reading a damaged file can raise, and their reason in one line."""

from __future__ import annotations

import struct
import zipfile
import zlib

__all__ = ["MAX_REASON", "READ_ERRORS", "short_reason"]

READ_ERRORS = (
    OSError, EOFError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RuntimeError, struct.error,
    zipfile.BadZipFile, zlib.error,
)  # fmt: skip
MAX_REASON = 300  # characters


def short_reason(error: BaseException) -> str:
    """Return the message of an error as one line of limited length; other libraries may quote half the file."""
    text = " ".join(str(error).split()).removesuffix(".") or type(error).__name__
    return text if len(text) <= MAX_REASON else f"{text[:MAX_REASON]}..."

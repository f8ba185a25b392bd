"""The backends that are available here, from the registry, so that none can be left out of a shared test."""

from __future__ import annotations

import momentlp as mlp

BACKENDS = tuple(info.name for info in mlp.backends() if info.available)

"""The peak of memory inside a block is measured on Linux, and not elsewhere."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from momentlp.runtime.peak_memory import peak_memory


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_that_is_freed_inside_the_block_counts() -> None:
    with peak_memory() as peak:
        np.ones(10**7).sum()
    if peak.bytes is None:
        pytest.skip("this system does not let a process reset its peak")
    assert peak.bytes >= 7 * 10**7


def test_on_other_systems_the_peak_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    with peak_memory() as peak:
        pass
    assert peak.bytes is None

"""Where benchmarks read and write. All folders are found from this file, not from the current folder."""

from __future__ import annotations

from pathlib import Path

__all__ = ["IMAGES", "RESULTS", "ROOT", "SCRATCH", "USPS_BESIDE"]

ROOT = Path(__file__).resolve().parents[2]  # of the project
RESULTS = ROOT / "docs" / "results" / "benchmarks"  # tables and growth curves
IMAGES = ROOT / "docs" / "images"  # pictures of the guides
USPS_BESIDE = ROOT.parent / "shared" / "data" / "usps"  # read where MOMENTLP_USPS is not set
SCRATCH = Path("/tmp/momentlp-bench")  # large data files; --scratch names another folder

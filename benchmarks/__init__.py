"""Benchmarks: what momentlp costs and finds, measured beside its peers.

Every script runs from the root of the project as ``python -m benchmarks.ROOM.SCRIPT``. README.md says which command answers
which question.
"""

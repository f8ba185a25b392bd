"""Fuzzing of everything that momentlp reads.

``valid_files`` makes files, ``damage`` changes them, ``targets`` reads them, and ``run`` does that for a bounded time.
"""

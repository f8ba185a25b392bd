"""Fuzzing of everything that momentlp reads.

``honest`` makes valid files, ``mutate`` changes them, ``targets`` reads them, and ``run`` does that for a bounded time.
"""

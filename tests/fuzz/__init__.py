"""Fuzzing of everything that momentlp reads.

``valid_files`` makes valid files, ``mutate`` changes them, ``targets`` reads them, and ``run`` does that for a bounded time.
"""

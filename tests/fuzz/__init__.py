"""Fuzzing of everything that momentlp reads: ``targets`` says what, ``mutate`` how, ``run`` runs them for a bounded time."""

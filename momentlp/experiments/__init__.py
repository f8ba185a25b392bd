"""Reproduce the paper: all its figures and numbers, the questions that it leaves open, and what this package adds.

``momentlp reproduce`` runs the experiments from the command line. An experiment is a list of tasks that can be done in any
order (:class:`~momentlp.experiments.engine.runner.Experiment`), a journal of the finished ones
(:class:`~momentlp.experiments.engine.journal.Journal`) and a report (:class:`~momentlp.experiments.engine.report.Report`).
"""

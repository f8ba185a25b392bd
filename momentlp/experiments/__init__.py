"""The paper, reproduced: every figure and number of it, what it leaves open, and what this package adds.

``momentlp reproduce`` runs them from the command line. An experiment is a list of pieces of work that can be done in any
order (:class:`~momentlp.experiments.engine.runner.Experiment`), a journal of what is done
(:class:`~momentlp.experiments.engine.journal.Journal`) and a report on it (:class:`~momentlp.experiments.engine.report.Report`).
"""

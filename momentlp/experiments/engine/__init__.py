"""Run experiments that can be stopped at any moment and continued: tasks, journal, report."""

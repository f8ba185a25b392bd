"""From a problem to a proved solution: attempt, verdict, exact fallback; paths, comparisons, many problems at once."""

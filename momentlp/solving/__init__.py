"""From a problem to a proved solution: attempts, repairs, the verdict; paths, comparisons, many problems at once."""

"""The experiments of the paper, and the questions that it leaves open."""

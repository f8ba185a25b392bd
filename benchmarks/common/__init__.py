"""What the benchmarks share: problems, peers, timing in turns, processes that are measured, and the pages of results."""

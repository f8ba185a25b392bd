"""The experiments of the paper, and its open questions."""

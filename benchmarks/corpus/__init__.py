"""A corpus of hard problems, made from a seed: every backend solves them, and every solution is judged exactly."""

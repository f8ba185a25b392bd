"""A corpus of hard problems: generated, seeded, and run through every backend."""

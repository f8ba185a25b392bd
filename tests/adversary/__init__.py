"""Hostile random problems for every backend, and a judge of its own in exact arithmetic."""

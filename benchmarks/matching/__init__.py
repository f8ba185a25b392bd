"""Whole sets and matching beside the peers: integer solvers, rounding, and packages for matching."""

"""Experiments that go beyond the paper: fewer labels, all digits, further ideas."""

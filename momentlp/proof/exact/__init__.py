"""The exact optimum in rational arithmetic."""

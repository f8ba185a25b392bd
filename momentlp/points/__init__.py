"""The points X as users have them: checked arrays, sparse matrices, and tables that are read in chunks."""

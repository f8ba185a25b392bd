"""The points X that users give: checked arrays and sparse matrices, and tables that are read in chunks."""

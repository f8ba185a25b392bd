"""What momentlp itself costs: over a bare solver, on import, on Ctrl-C, and with other solver options."""

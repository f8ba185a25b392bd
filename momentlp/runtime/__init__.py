"""Processes, threads, memory, files and text tables: nothing here knows of linear programs."""

"""Processes, threads, memory, files and text tables. Nothing here knows about linear programs."""

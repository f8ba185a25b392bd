"""Readers of files that come from outside: they never run what a file holds, and limit the memory it can take."""

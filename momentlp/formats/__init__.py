"""Files from outside, read within bounds: nothing in a file is run, and no file can ask for endless memory."""

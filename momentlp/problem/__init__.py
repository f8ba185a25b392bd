"""The linear program: moments, bounds, weights and caps, its matrix form and its files, without specs or solvers."""

"""The linear program: moments, bounds, weights and caps, its matrix form and its files. It knows neither specs nor solvers."""

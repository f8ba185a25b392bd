"""The contract between momentlp and a solver, the registry of backends, and the rule behind ``backend="auto"``."""

"""Find a class from a few labels: momentlp beside what users use instead, on the same splits."""

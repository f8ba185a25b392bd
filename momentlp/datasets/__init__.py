"""Data for examples and experiments: made-up cases, and a reader for the USPS digits."""

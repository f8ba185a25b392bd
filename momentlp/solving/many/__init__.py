"""Many problems in worker processes that share their data."""

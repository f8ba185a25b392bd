"""Time and memory beside the peers: targets, one table of all peers, growth, and the rule of ``backend="auto"``."""

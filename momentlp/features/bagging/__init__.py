"""Classifiers trained in bags on labelled against unlabelled points, with scores out of bag."""

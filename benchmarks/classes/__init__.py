"""Find a class from a few labels: ``MomentClassifier`` beside one-class and PU learners, on the same splits."""

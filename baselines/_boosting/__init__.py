"""What the boosting classifiers share: rounds and votes, searched and given learners, the base."""

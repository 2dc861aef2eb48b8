"""Parts of the boosting classifiers: learners, rounds, votes, and the base class."""

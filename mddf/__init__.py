"""Deep forests guided by the margin distribution."""

from mddf.classifier import MDDFClassifier
from mddf.forests import CompletelyRandomForestClassifier, RandomForestClassifier

__version__ = "0.1.0"

__all__ = ["CompletelyRandomForestClassifier", "MDDFClassifier", "RandomForestClassifier"]

"""Measuring a fitted model from outside."""

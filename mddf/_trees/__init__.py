"""Blocks of trees: growing them, storing them as arrays, predicting with them."""

"""Blocks of trees: `grower` grows them, `arrays` stores them, `predictor` predicts with them."""

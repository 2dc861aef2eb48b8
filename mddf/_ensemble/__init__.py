"""What makes one model of several: weights, calibration, scores, coefficients, checkpoints."""

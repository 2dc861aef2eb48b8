"""Fitted models: stages of members, and how every estimator predicts through them."""

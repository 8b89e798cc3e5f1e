"""Evaluation of predictions that somebody already has, and external validation of a fitted model."""

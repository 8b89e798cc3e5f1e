"""Metrics: scikit-learn's, applied to stored predictions."""

"""Aggregated hold-outs, and their cross-test."""

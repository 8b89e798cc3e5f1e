"""Candidates along a path (stages, rounds, trees, epochs): one fit of the largest answers all."""

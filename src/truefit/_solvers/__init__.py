"""Solvers: who computes fits, one by one or in groups."""

"""Solvers: they compute fits, one by one or in groups."""

"""Solvers: who answers fits, one by one or in groups."""

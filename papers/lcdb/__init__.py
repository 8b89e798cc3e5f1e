"""Extrapolation of real learning curves (LCDB): the constants of its intervals and stops, and how well it does."""

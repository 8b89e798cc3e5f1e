"""The engine: drives plans, and never fits the same thing twice."""

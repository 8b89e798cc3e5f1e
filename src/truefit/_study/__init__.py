"""The study: all four questions about a table, answered from one set of fits."""

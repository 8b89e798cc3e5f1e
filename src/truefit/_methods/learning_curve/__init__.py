"""Would more data help: learning curves, measured and extrapolated."""

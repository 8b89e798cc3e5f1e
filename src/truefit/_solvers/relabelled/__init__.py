"""The same rows with other labels: what depends on X alone is computed once."""

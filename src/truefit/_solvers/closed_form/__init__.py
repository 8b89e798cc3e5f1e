"""Closed forms from sufficient statistics: other labels, other row sets, rows left out."""

"""Closed forms from sufficient statistics: other labels, other row sets, leave-one-out."""

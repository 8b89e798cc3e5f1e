"""Which columns matter: permutation importance on held-out rows."""

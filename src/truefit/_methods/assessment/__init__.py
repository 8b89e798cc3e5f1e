"""How good is it: a design measured, and turned into estimates with intervals."""

"""Perturbed Model Validation (Zhang et al., 2019): its Table 1, Figures 3 and 4, and the tree without limits."""

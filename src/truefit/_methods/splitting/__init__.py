"""Which rows train and which are tested on: designs, splits, resamples, the triangle of folds."""

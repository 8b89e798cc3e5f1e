"""Does it fit: how a learner gives way as its labels or features are perturbed."""

"""Which model: search by cross-validation, and how good the choice is."""

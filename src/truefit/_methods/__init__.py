"""Methods: one file each, its plan and its result."""

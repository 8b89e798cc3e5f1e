"""The public functions: wiring, and nothing else."""

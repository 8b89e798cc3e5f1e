"""Executors: who runs jobs, here, in worker processes, or on anything that speaks concurrent.futures."""

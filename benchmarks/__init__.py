"""Benchmarks: ratios against the peer, measured in the same run, and faults at length."""

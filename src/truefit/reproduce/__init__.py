"""Reproduce: the experiments of the papers behind the methods, run anew, with the papers' numbers beside ours.

One file per experiment; ``registry`` knows them by name.
"""

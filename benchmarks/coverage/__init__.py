"""Coverage: how often the intervals that truefit offers hold the error they are for, over many samples.

    python -m benchmarks.coverage --store coverage.db --workers 16 --minutes 9 --table docs/coverage.md

A setting is a generator of rows, a learner and a number of rows. In each repetition a sample is drawn, every method
makes its interval from it, and the truth is measured on many fresh rows. Every generator and setting was chosen, and
marked as stable or not, before any coverage was looked at, and all of them are kept.
"""

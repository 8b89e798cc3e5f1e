"""Perturbed choice: does choosing by Perturbed Model Validation help, and does it choose the same again?

    python -m benchmarks.perturbed_choice --data FOLDER --store choice.db --out docs/perturbed-choice.md

Tables, grids and numbers of rows were chosen before any result was looked at, and all of them are kept.
"""

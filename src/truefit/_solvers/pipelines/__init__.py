"""Pipelines that have steps in common: these are fitted once."""

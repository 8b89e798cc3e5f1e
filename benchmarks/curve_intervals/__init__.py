"""Intervals of learning curves that single cross-validations measure: their constants, and how often they hold."""

"""Policies over moves: a weighted sum of numbers about each, inside the compiled search loop."""

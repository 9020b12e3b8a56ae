"""Generic search hosts: dispatching, local search, tabu search, and their results."""

"""Policies over graphs: the paper's network, to read and to train (`network.py`) and compiled (`scorer.py`)."""

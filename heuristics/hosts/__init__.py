"""What searches with one schedule at a time: dispatching rules, local search, tabu search."""

"""What searches with many schedules: islands that tabu search improves and recombination feeds."""

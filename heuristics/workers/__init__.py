"""What travels to other processes and machines: tasks, portfolios of them, and searches that cooperate."""

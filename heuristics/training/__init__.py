"""Training of policies that select moves: the environment, a file per algorithm, and runs that can be resumed."""

"""Training of policies that select moves: the environment, n-step REINFORCE, and runs that can be resumed."""

"""One trajectory: the state, its memory, and the loop that takes steps, compiled or in Python."""

"""Our own network over graphs: messages both ways, of the surroundings of the moves alone."""

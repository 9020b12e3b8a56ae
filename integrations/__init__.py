"""The outside world: command line, plots, and other solvers and toolkits."""

"""Benchmark runs: instances (`sets`), what to run on each and its result (`cells`), tables and curves (`report`)."""

"""Benchmark runs: instances (`sets`), what to run on each (`cells`), kept results (`store`), tables (`report`)."""

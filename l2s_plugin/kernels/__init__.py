"""Compiled code: plain functions over flat int32 arrays, no allocation, no Python objects, no GIL."""

quiet = False  # whether to compile without a word, as `--quiet` wants it

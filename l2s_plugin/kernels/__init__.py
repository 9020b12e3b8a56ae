"""Compiled code: plain functions over flat int32 arrays, no allocation, no Python objects, no GIL."""

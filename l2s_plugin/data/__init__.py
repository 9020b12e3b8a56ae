"""The classic benchmark instances."""

"""Move selectors."""

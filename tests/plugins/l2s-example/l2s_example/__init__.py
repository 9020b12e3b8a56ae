"""An example of everything a search plugin can offer."""

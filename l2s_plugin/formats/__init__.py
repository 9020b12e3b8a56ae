"""Instance files, one module per format."""

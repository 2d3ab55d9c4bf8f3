"""Files and lines, written whole."""

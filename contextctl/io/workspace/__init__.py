"""What left the window, kept whole."""

"""Reading back what left the window."""

"""Documents granted to a task."""

"""Long-term memory: its gates and its recall."""

"""What a replay is judged by."""

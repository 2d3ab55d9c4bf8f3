"""Shaping of tool results, one file a kind of content."""

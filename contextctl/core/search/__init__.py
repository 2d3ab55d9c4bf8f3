"""Ranking by words, in any script."""

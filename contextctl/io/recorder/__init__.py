"""Calls of other programs recorded as traces."""

"""Profiles on disk: read, checked, resolved, edited, saved."""

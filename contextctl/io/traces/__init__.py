"""Importers of recorded traces, one file a format."""

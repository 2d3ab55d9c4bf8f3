"""Databases: audit and memory."""

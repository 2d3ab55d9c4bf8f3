"""Folders that ``contextctl init --template`` copies: each runs as it is, offline."""

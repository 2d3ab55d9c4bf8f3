"""Loops: one task, a batch, a replay."""

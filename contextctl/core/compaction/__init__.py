"""Compaction, piece by piece: when it is due, what it takes, what it is made from, its checks."""

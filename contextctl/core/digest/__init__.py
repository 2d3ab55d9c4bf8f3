"""Digests of steps that left the window, and the facts they carry."""

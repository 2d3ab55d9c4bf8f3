"""Renderers: value to text, JSON or HTML. They compute nothing."""

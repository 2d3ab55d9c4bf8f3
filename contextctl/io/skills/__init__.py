"""Skill folders."""

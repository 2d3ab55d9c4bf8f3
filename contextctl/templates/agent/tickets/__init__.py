"""The tools of this agent."""

"""contextctl: an agent's context window as a budget that is declared, measured and explained."""

__version__ = "0.1.0"

"""The fold: from events to the window of the next step."""

"""The ladder of remedies, one file each, one signature."""

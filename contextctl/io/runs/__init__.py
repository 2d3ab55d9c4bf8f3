"""A run's folder, its records and its tasks."""

"""Values: frozen dataclasses without behaviour beyond their own data."""

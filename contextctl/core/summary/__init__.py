"""The mechanical summary: what older messages amounted to, extracted without a model."""

"""Models: litellm or a script, what is known of them, their vocabularies."""

"""Effects: one file per outside thing; translate, never decide."""

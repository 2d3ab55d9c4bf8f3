"""Tools as the model sees them: deferral, search, arguments, readers."""

"""Tools that run here: functions, commands, HTTP."""

"""One file a command: parse, call, render; nothing else."""

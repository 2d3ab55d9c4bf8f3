"""Questions asked of assemblies: why, what if, what to look at."""

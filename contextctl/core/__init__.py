"""Pure: values in, values out. No clock, disk, network, randomness or environment."""

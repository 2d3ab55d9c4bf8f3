"""The order desk's tools."""

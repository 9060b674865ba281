"""The scan."""

"""Frozen value types with units in their names; no input or output, no clock."""

"""From signals to findings."""

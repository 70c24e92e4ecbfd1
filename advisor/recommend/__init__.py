"""From findings to settings: smallest change that meets the target, never past a guard."""

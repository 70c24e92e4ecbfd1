"""From samples, log records and object changes to signals: one implementation for every source."""

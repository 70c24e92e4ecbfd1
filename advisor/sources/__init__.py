"""Where samples, log records and object changes come from."""

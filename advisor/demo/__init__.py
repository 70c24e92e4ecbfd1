"""A story of faults that a simulated operator goes through, told so that the service can watch it."""

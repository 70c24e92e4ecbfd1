"""One source for all rules: recording rules, alerts, and what is made of them. Not part of the wheel."""

"""Controllers of `advisor.queueing` in real time: threads, a clock, and their metrics for Prometheus."""

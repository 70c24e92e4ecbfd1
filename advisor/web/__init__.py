"""The advisor service: watches operators on a schedule, keeps history, and shows it on web pages."""

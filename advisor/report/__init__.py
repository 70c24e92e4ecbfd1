"""Renderers of a report: text, Markdown and HTML for people, JSON as the contract."""

"""Renderers of a report: text for people, JSON as the contract."""

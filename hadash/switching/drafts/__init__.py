"""Requests that are written but not submitted: only their authors see them, and they hold no radius."""

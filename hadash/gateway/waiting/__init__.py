"""Requests that wait: for a change of their binding, for their turn, for memory."""

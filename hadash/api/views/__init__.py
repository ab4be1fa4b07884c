"""Handlers: each validates by its shape, reads through selectors, changes through services."""

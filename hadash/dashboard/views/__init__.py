"""The views. Each reads through selectors, changes through services, and reports the result."""

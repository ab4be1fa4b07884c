"""People: signing in, roles, and API tokens."""

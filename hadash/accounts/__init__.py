"""People: signing in, and the roles that they have."""

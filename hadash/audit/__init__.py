"""Who did what, when, from where."""

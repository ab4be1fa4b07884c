"""Requests that are written but not asked yet: nobody sees them but their author, and nothing is held for them."""

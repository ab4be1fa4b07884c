"""Rules of governance and what they find."""

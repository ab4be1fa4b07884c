"""Mirrors: connectors, lag, the proof that a mirror is drained, exact offset translation, ACLs on both sides."""

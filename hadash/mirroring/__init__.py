"""Mirrors: connectors, lag, the proof that one is drained, exact offset translation, ACLs on both sides."""

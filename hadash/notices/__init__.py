"""Notices: what has happened, told to whoever wants to know it, by mail or into a channel, once and not in a storm."""

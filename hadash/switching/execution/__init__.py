"""Carrying out a running switch: its executor, the effects of commands on real servers, leases, and stored results."""

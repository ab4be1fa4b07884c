"""Carrying out a running switch: its executor, what commands do on real servers, leases, what is kept of it."""

"""Connections to the brokers of both clusters, the accounts they are signed in with, and each broker's virtual id."""

"""The outbox: every message to people and programs outside is first a row, and is sent later by a worker."""

"""Signals that switches send to other parts of hadash."""

from django.dispatch import Signal

#: Sent when a switch has ended, in the transaction that ends it, with the locked row as ``switch``.
switch_ended = Signal()

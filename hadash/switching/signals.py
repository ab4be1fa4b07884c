"""What other parts are told of a switch."""

from django.dispatch import Signal

#: A switch has ended. Sent in the transaction that ends it, with the locked row as ``switch``.
switch_ended = Signal()

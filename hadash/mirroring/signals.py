"""What happens to mirrors that others have to know."""

from __future__ import annotations

from django.dispatch import Signal

#: A mirror's standby is a new one: what was known of its old copies is not true any more. Sent with ``mirror``, within
#: the transaction that says where both sides correspond now.
standby_renewed = Signal()

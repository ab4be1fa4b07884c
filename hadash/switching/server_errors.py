"""What commands raise when a server does not do what it is asked. Any other error is a bug."""

from __future__ import annotations

from hadash.bindings.errors import BindingError
from hadash.coordinator.documents import DocumentError
from hadash.coordinator.pool_view import PoolError
from hadash.inventory.gateways import GatewaySilent
from hadash.kafka.errors import ConnectError, KafkaError
from hadash.mirroring.services import MirrorError

SERVER_ERRORS = (BindingError, KafkaError, ConnectError, MirrorError, GatewaySilent, PoolError, DocumentError)

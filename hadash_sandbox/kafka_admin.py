"""What a new cluster still needs once its brokers listen: all brokers in METADATA, and SCRAM credentials."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import (
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialAlteration,
    UserScramCredentialUpsertion,
)

from hadash_sandbox.errors import SandboxError

_MECHANISMS = (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512)
_ITERATIONS = 4096


def connect(config: Mapping[str, str]) -> AdminClient:
    """An admin client that logs nothing: brokers restart often here, and the sandbox polls and reports by itself."""
    return AdminClient({**config, "log_level": 0, "reconnect.backoff.max.ms": 500})


def wait_for_brokers(admin: AdminClient, count: int, *, alive: Callable[[], bool], timeout: float) -> None:
    """Wait until METADATA shows ``count`` brokers, which is a little after their ports open.

    :param alive: whether the brokers' processes run; the wait ends when they do not.
    :param timeout: in seconds.
    :raises SandboxError: a broker has died, or the time is over.
    """
    deadline = time.monotonic() + timeout
    seen = 0
    while time.monotonic() < deadline and alive():
        try:
            seen = len(admin.list_topics(timeout=2).brokers)
        except KafkaException:
            seen = 0
        if seen >= count:
            return
        time.sleep(0.1)
    raise SandboxError(f"Kafka shows {seen} of its {count} brokers; look into its log.")


def ensure_scram_users(admin: AdminClient, users: Mapping[str, str]) -> None:
    """Create the SCRAM credentials that are missing (each costs a key derivation)."""
    missing = [user for user in users if not _has_scram(admin, user)]
    changes: list[UserScramCredentialAlteration] = [
        UserScramCredentialUpsertion(user, ScramCredentialInfo(mechanism, _ITERATIONS), users[user].encode())
        for user in missing
        for mechanism in _MECHANISMS
    ]
    if changes:
        for future in admin.alter_user_scram_credentials(changes).values():
            future.result(timeout=15)


def _has_scram(admin: AdminClient, user: str) -> bool:
    answers = admin.describe_user_scram_credentials([user])
    assert isinstance(answers, dict)  # it is a single future only when all users are asked for
    try:
        described = answers[user].result(timeout=15)
    except KafkaException as error:
        if error.args[0].code() == KafkaError.RESOURCE_NOT_FOUND:
            return False
        raise
    known = {info.mechanism for info in described.scram_credential_infos}
    return known.issuperset(_MECHANISMS)

"""SCRAM users of one cluster, through kafka-python's admin client.

librdkafka's client is not used: its DescribeUserScramCredentials ends the process (``free(): invalid pointer``) when it
is the first request after a cluster that stood still (docs/adr/0011-two-admin-clients.md). Requests go to the
controller: with ZooKeeper other brokers refuse them.
"""

from __future__ import annotations

from kafka.admin import ScramMechanism, UserScramCredentialUpsertion
from kafka.protocol.admin import AlterUserScramCredentialsRequest, DescribeUserScramCredentialsRequest

from hadash.kafka.group_admin import Admin, raise_refusal

#: Iterations of a SCRAM password's hash: Kafka's own default, and the minimum of RFC 7677. Each sign-in costs
#: the client as many.
ITERATIONS = 4096


def users(admin: Admin) -> dict[str, set[str]]:
    """Return the SCRAM mechanisms of each user with a password on this cluster."""
    response = admin.ask_controller(DescribeUserScramCredentialsRequest(users=None))
    raise_refusal(response)
    found = {}
    for each in response.results:
        raise_refusal(each)
        found[each.user] = {
            ScramMechanism(info.mechanism).name.replace("_", "-") for info in each.credential_infos
        }
    return found


def set_password(user: str, mechanism: str, password: str, admin: Admin) -> None:
    """Create or replace the user's credential of one mechanism, such as ``SCRAM-SHA-512``."""
    wanted = UserScramCredentialUpsertion(user, mechanism, password, iterations=ITERATIONS)
    upsertion = (user, int(wanted.mechanism), wanted.iterations, wanted.salt, wanted.salted_password)
    response = admin.ask_controller(AlterUserScramCredentialsRequest(deletions=[], upsertions=[upsertion]))
    for each in response.results:
        raise_refusal(each)

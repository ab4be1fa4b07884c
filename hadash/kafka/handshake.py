"""Finds out by one more handshake why a cluster cannot be reached over TLS: client libraries report little more
than the failure.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

from hadash.kafka.tls import context
from hadash.kafka.values import ClusterAccess
from hadash.sentences import Sentence, say

#: Seconds for one broker: the cluster has already failed to answer, and the user waits.
HANDSHAKE_SECONDS = 3.0

#: Seconds in which a broker refuses hadash's certificate: one round trip.
REFUSAL_SECONDS = 1.0

#: Brokers that are tried, at most: the first that fails tells the reason, and a few stand for a large cluster.
MOST_BROKERS = 5

#: OpenSSL's X509_V_ERR_…
_NOT_YET_VALID, _EXPIRED, _HOST_MISMATCH, _ADDRESS_MISMATCH = 9, 10, 62, 64

Address = tuple[str, int]

#: The values of a sentence about a broker: its ``cluster`` and ``address``.
Where = Mapping[str, str]


def tls_fault(access: ClusterAccess, more: Iterable[Address] = ()) -> Sentence | None:
    """Return a sentence that says what is wrong with TLS to a cluster and what to do; ``None`` when nothing is,
    or it has no TLS.

    :param more: addresses of brokers besides the bootstrap servers.
    """
    if not access.security_protocol.endswith("SSL"):
        return None
    ended = access.tls.expired(datetime.now(UTC))
    if ended is not None:
        return say(
            "hadash's certificate for cluster %(cluster)s has expired on %(at)s UTC. "
            "Register the cluster with a new tls_certificate and tls_key.",
            cluster=access.name,
            at=f"{ended:%Y-%m-%d %H:%M}",
        )
    tls = context(access.tls)
    for address in list(dict.fromkeys([*_bootstrap(access), *more]))[:MOST_BROKERS]:
        fault = _fault_at(address, tls, access)
        if fault is not None:
            return fault
    return None


def _bootstrap(access: ClusterAccess) -> list[Address]:
    found = []
    for server in access.bootstrap_servers.split(","):
        host, _, port = server.strip().rpartition(":")
        if port.isdecimal():
            found.append((host.strip("[]"), int(port)))
    return found


def _fault_at(address: Address, tls: ssl.SSLContext, access: ClusterAccess) -> Sentence | None:
    where = {"cluster": access.name, "address": f"{address[0]}:{address[1]}"}
    try:
        plain = socket.create_connection(address, HANDSHAKE_SECONDS)
    except OSError:
        return None  # it does not answer at all, so TLS is not the cause
    try:
        with plain, tls.wrap_socket(plain, server_hostname=address[0]) as connected:
            connected.settimeout(REFUSAL_SECONDS)
            connected.recv(1)  # with TLS 1.3 a broker refuses a client's certificate after the handshake
    except ssl.SSLCertVerificationError as error:
        return _unverified(error, where, access)
    except TimeoutError:
        return None  # it waits for a request
    except OSError as error:  # ssl.SSLError is one
        return _refused(getattr(error, "reason", None) or str(error), where, access)
    return None


def _unverified(error: ssl.SSLCertVerificationError, where: Where, access: ClusterAccess) -> Sentence:
    if error.verify_code == _EXPIRED:
        return say(
            "The certificate of the broker of cluster %(cluster)s at %(address)s, or of who issued it, has expired. "
            "Renew it on the broker.",
            **where,
        )
    if error.verify_code == _NOT_YET_VALID:
        return say(
            "The certificate of the broker of cluster %(cluster)s at %(address)s is not valid yet. Do the clocks of "
            "both machines agree?",
            **where,
        )
    if error.verify_code in (_HOST_MISMATCH, _ADDRESS_MISMATCH):
        return say(
            "The certificate of the broker of cluster %(cluster)s at %(address)s is for other names. Reach the broker "
            "(bootstrap_servers, and its advertised.listeners) by a name that the certificate has, or give it one with "
            "this name among its subject alternative names.",
            **where,
        )
    if access.tls.ca:
        return say(
            "The certificate of the broker of cluster %(cluster)s at %(address)s is not issued by the cluster's tls_ca "
            "(%(reason)s). Register the cluster with the PEM of who issued it.",
            **where,
            reason=error.verify_message,
        )
    return say(
        "The certificate of the broker of cluster %(cluster)s at %(address)s is issued by nobody that this machine "
        "trusts (%(reason)s). Register the cluster with tls_ca, the PEM of who issued it.",
        **where,
        reason=error.verify_message,
    )


def _refused(reason: str, where: Where, access: ClusterAccess) -> Sentence:
    if "ALERT" not in reason or "PROTOCOL_VERSION" in reason:
        return say(
            "TLS with the broker of cluster %(cluster)s at %(address)s failed (%(reason)s). Is security_protocol "
            "%(protocol)s what that port speaks?",
            **where,
            reason=reason,
            protocol=access.security_protocol,
        )
    if not access.tls.certificate:
        return say(
            "The broker of cluster %(cluster)s at %(address)s wants a certificate of hadash's own (%(reason)s). "
            "Register the cluster with tls_certificate and tls_key.",
            **where,
            reason=reason,
        )
    return say(
        "The broker of cluster %(cluster)s at %(address)s does not accept hadash's certificate (%(reason)s). "
        "Register the cluster with a tls_certificate whose issuer is in the brokers' ssl.truststore, with the "
        "authorities between them.",
        **where,
        reason=reason,
    )

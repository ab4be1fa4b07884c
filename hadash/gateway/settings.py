"""Every limit and timeout of a Gateway, with its default and the reason for it."""

from __future__ import annotations

import difflib
import math
import os
import socket
from collections.abc import Iterable
from dataclasses import dataclass, field


def _gateway_id() -> str:
    port = os.environ.get("HADASH_GATEWAY_PORT", "9092")
    return os.environ.get("HADASH_GATEWAY_ID", "") or f"{socket.gethostname()}-{port}"


@dataclass(frozen=True, slots=True)
class GatewaySettings:
    """The settings, read from the environment: field ``port`` from ``HADASH_GATEWAY_PORT``, and so on."""

    #: The pair of clusters that this Gateway serves.
    pair: str = "main"
    #: The Gateway's name in membership; stable over restarts, unique among the Gateways.
    id: str = field(default_factory=_gateway_id)
    #: The address to listen on, and the address that METADATA names to clients.
    host: str = "127.0.0.1"
    advertised_host: str = "127.0.0.1"
    #: Bootstrap port. The ports of virtual nodes follow it: see ``nodes.py``.
    port: int = 9092
    #: Node ports reserved for each cluster: broker ids from 0 up to this many. The number is fixed, so that an address
    #: which a client remembers stays the same broker over restarts.
    ports_per_cluster: int = 100
    #: Status, access and metrics over HTTP, outside the nodes' ports. Loopback by default, because it has no sign-in.
    admin_host: str = "127.0.0.1"
    admin_port: int = 9400
    #: The host at which hadash reaches these pages, if it differs from ``admin_host``: needed when that is 0.0.0.0 or
    #: :: (every address of the machine).
    admin_advertised_host: str = ""
    #: ``proxy``: all traffic of clients passes through the Gateway. ``redirect``: look-ups only, and METADATA names the
    #: brokers themselves; for clusters whose own engine blocks clients.
    mode: str = "proxy"
    #: Processes that share the ports, each a member of its own (``id-1``, ``id-2``, …; their status ports follow
    #: ``admin_port``). One process uses one core; SIGHUP restarts them one by one.
    workers: int = 1
    #: A folder for data that must outlive a process: which cluster knows which group member, and the last epoch. If it
    #: is empty, a restart loses them: a static member that moves afterwards may be fenced by the cluster that it was on
    #: before, and the Gateway accepts bindings from a ZooKeeper that was restored to an older state.
    state: str = ""
    #: ``refuse``: a transactional producer is refused at once. ``relay``: it is served, but hadash guarantees nothing
    #: for transactions across a switch: an open transaction stays on the old cluster, where it times out, its
    #: producer ends with an error and has to start again, and what it consumed and produced in the transaction may be
    #: done twice.
    transactions: str = "refuse"
    #: How clients connect: PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL. A Gateway has one kind of listener.
    security_protocol: str = "SASL_PLAINTEXT"
    #: The Gateway's certificate with chain and its key (PEM), for SSL and SASL_SSL; and for SSL the authority that
    #: issues clients' certificates.
    tls_certificate: str = ""
    tls_key: str = ""
    tls_client_ca: str = ""
    #: The rules that map the subject of a client's certificate to an AppID: Kafka's ``ssl.principal.mapping.rules``.
    principal_mapping_rules: str = "DEFAULT"
    #: The authority that issues the brokers' certificates (PEM), for clusters with TLS: a file for both, or
    #: ``east=/a.pem,west=/b.pem``. Empty: the system's authorities.
    upstream_ca: str = ""
    #: The Gateway's own certificate with chain, and its key (PEM), for clusters whose brokers require one; in the same
    #: form. On a cluster without SASL it identifies the Gateway itself, for look-ups; AppIDs have certificates of their
    #: own in the accounts.
    upstream_certificate: str = ""
    upstream_key: str = ""
    #: Seconds between checks of the files of certificates, keys and authorities, which are read again when they have
    #: changed (SIGHUP: at once). They are renewed hours or days before they expire.
    certificate_seconds: float = 10.0
    #: Addresses and networks (``10.0.0.0/24``) from which every connection must begin with a header of the PROXY
    #: protocol, version 2: load balancers in front of this Gateway. From other addresses a header is not accepted,
    #: because a sender of headers can name any address.
    proxy_protocol_from: tuple[str, ...] = ()
    #: The most bytes of such a header. Addresses take 52 at most; a load balancer's own values (TLVs) a few hundred.
    max_proxy_header_bytes: int = 2_048
    #: Seconds to wait for the header: the minimum that the specification recommends, which covers one lost packet.
    proxy_header_seconds: float = 3.0
    #: Clusters, separated by commas, whose brokers get such a header at the start of each connection, which names the
    #: client. Kafka does not accept it: for brokers behind a load balancer that does (HAProxy's ``accept-proxy``), and
    #: for engines that do.
    upstream_proxy_protocol: tuple[str, ...] = ()
    #: The mechanisms that SASL_HANDSHAKE offers; OAUTHBEARER is possible too. Name only those that both clusters
    #: support: the exchange is relayed.
    sasl_mechanisms: tuple[str, ...] = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
    #: The claim of an OAUTHBEARER token that holds the AppID: the brokers' ``sasl.oauthbearer.sub.claim.name``.
    oauthbearer_principal_claim: str = "sub"
    #: A file with the Gateway's own accounts (see ``accounts.py``): for look-ups on the other cluster, and for AppIDs
    #: that sign in without a password. Empty: no accounts.
    accounts: str = ""
    #: The largest request or response: Kafka's own ``socket.request.max.bytes``.
    max_frame_bytes: int = 104_857_600
    #: The largest request before sign-in: Kafka's own ``sasl.server.max.receive.size``.
    max_unauthenticated_frame_bytes: int = 524_288
    #: The most requests of a connection before it is signed in. A client sends one or two API_VERSIONS, as many
    #: SASL_HANDSHAKE, and one or two SASL_AUTHENTICATE: six at most.
    max_requests_before_sign_in: int = 16
    #: The most connections at once that are not signed in, out of ``max_connections``. When one more arrives, the one
    #: that has kept the Gateway waiting for the longest is closed (see ``unauthenticated.py``). A sign-in takes some
    #: hundredths of a second, so this many sign-ins take less than a second when a whole fleet comes back.
    max_unauthenticated_connections: int = 5_000
    #: The same limit for one peer address, so that one machine does not use up all of them; 0 for no limit. It is half
    #: of them, because behind a load balancer all clients have one address.
    max_unauthenticated_per_host: int = 2_500
    #: The most bytes that all connections that are not signed in hold together; above it the one that holds most is
    #: closed. Divided among all of them it is 13 KiB each, more than a sign-in needs, so an honest client is not
    #: closed.
    max_unauthenticated_bytes: int = 67_108_864
    #: Seconds from connecting to being signed in, including the TLS handshake. Kafka clients themselves time out
    #: after 30.
    authentication_seconds: float = 30.0
    #: Seconds to connect to a broker. Shorter than the client's own 30 s, so that the client learns of the failure.
    connect_seconds: float = 10.0
    #: Seconds of silence after which the machine of a broker or client counts as gone, with its connections: a block
    #: waits this long for a broker that lost its power. Longer than the time for which a broker stops reading a client
    #: that is over its quota.
    silence_seconds: float = 60.0
    #: Connections that the kernel queues until they are accepted: after a move thousands arrive at once.
    accept_backlog: int = 1024
    #: Seconds that a request stays parked. Below the request timeout of every client (Java 30 s): the client gets a
    #: retriable error, asks again, and its request is parked again.
    park_seconds: float = 20.0
    #: Seconds that the connection to the broker is kept for writes of a client that has left, until the broker has
    #: answered: the request timeout of most clients. While a block waits for the answer, as long as the block lasts.
    linger_seconds: float = 30.0
    #: Seconds that a client has to read its last answers before it is hung up on. A client that is cut off before may
    #: write the same a second time.
    hang_up_seconds: float = 5.0
    #: The most PRODUCE requests of one connection that the cluster has not answered; above it the client is not read.
    #: librdkafka without idempotence has no limit of its own, and a block waits for all of them.
    max_in_flight: int = 64
    #: The same limit while a switch quiesces, shortly before its block: the Java client's own default.
    quiescing_in_flight: int = 5
    #: The most requests parked at once in this process, and the bytes that they hold; above either limit the retriable
    #: error is returned at once. The bytes allow a write of 100 KiB from each of two thousand producers, a tenth of a
    #: small machine's memory.
    max_parked: int = 20_000
    max_parked_bytes: int = 268_435_456
    #: The most bytes of one connection that arrive behind a waiting request; above it the client is not read. One
    #: default batch of librdkafka (1 MB).
    backlog_bytes: int = 1_048_576
    #: The most bytes of large requests (64 KiB and more) that clients are sending at one time, in this process: five of
    #: the largest. A client that begins another one is not read until there is room.
    max_partial_bytes: int = 536_870_912
    #: Seconds after which a client that is still sending one request is closed, if others wait for that room: the
    #: request timeout of most clients, after which they have abandoned the request.
    partial_seconds: float = 30.0
    #: The most requests of one connection without an answer; above it the client is not read. Clients have five in
    #: flight (Java) or one of each kind; an answer waits for the ones before it.
    max_unanswered: int = 256
    #: The most bytes that wait for a client (or broker) to read them before its other side is no longer read. A fetch
    #: answer of the default size passes without a stop; a slow client holds this much memory.
    write_buffer_bytes: int = 2_097_152
    #: The most connections at once in this process, signed in or not; further ones are closed at once. Each takes two
    #: file descriptors (``ulimit -n``) when it is signed in.
    max_connections: int = 20_000
    #: Seconds for which heartbeats are held so that a group's members are answered together. The default
    #: heartbeat.interval.ms of all clients: within it every member has sent one.
    hold_heartbeats_seconds: float = 3.0
    #: Seconds after a forward in which look-ups on a connection that is signed in to the old cluster are answered from
    #: the switch's placement. Later ones close the connection, because a placement becomes outdated.
    away_lookup_seconds: float = 10.0
    #: Seconds after which a block that is not in effect is logged, with what it waits for. A broker answers a PRODUCE
    #: in milliseconds.
    slow_block_seconds: float = 1.0
    #: Seconds that clients have to come back after they were cut off before they had all their answers (their broker
    #: died, their own connection broke, or the process that served them was killed). Until then nothing that leads to a
    #: block is in effect for them. The longest that a client library waits by default before it connects again
    #: (kafka-python 30, librdkafka 15, Java 1).
    return_seconds: float = 30.0
    #: Seconds that a client has to send again what a broker has refused because it no longer leads the partition:
    #: clients look up the new leader and try again after 0.1 s (librdkafka, Java) to 1 s.
    retry_seconds: float = 5.0
    #: Seconds between reads of both clusters' API versions.
    versions_seconds: float = 30.0
    #: The lake that access reports are written to (a folder, s3a://… or hdfs://…), and the seconds between two batches:
    #: few files of useful size, and a restart loses a minute at most. Empty: no reports are written.
    lake: str = ""
    lake_seconds: float = 60.0
    #: Seconds from the first client to the first batch: it then holds all clients that come back after a start, and a
    #: new fleet is visible soon.
    lake_first_seconds: float = 20.0
    #: Seconds of one traffic sample, and how many samples are kept (ten minutes; fewer with very many clients: see
    #: ``samples.py``).
    traffic_seconds: float = 0.5
    traffic_samples: int = 1200

    @property
    def admin_asked_host(self) -> str:
        """The status host that the Gateway's membership record names."""
        return self.admin_advertised_host or self.admin_host

    @property
    def admin_url(self) -> str:
        """The address at which hadash reaches the status pages.

        >>> GatewaySettings(admin_host="::", admin_advertised_host="fd00::7").admin_url
        'http://[fd00::7]:9400'
        """
        host = self.admin_asked_host
        return f"http://{f'[{host}]' if ':' in host else host}:{self.admin_port}"

    @classmethod
    def from_environment(cls) -> GatewaySettings:
        """Read the settings from the environment.

        :raises ValueError: a variable cannot be used. The message names it and says what can.
        """
        values: dict[str, object] = {}
        _refuse_unknown(cls.__dataclass_fields__)
        for name, default in ((f, getattr(cls(), f)) for f in cls.__dataclass_fields__):
            variable = f"{PREFIX}{name.upper()}"
            text = os.environ.get(variable)
            if not text:
                continue  # an empty variable counts as not set: an empty name or address would have another meaning
            try:
                if isinstance(default, tuple):
                    values[name] = tuple(part.strip() for part in text.split(",") if part.strip())
                else:
                    values[name] = type(default)(text)
            except ValueError:
                raise ValueError(f"{variable}={text!r} is not {_KINDS[type(default)]}.") from None
            _refuse_unusable(name, variable, text, values[name])
        settings = cls(**values)  # type: ignore[arg-type]
        if settings.admin_asked_host in _EVERY_ADDRESS:
            raise ValueError(
                f"{PREFIX}ADMIN_HOST={settings.admin_host!r} is where the Gateway listens, and no address that "
                f"hadash can ask. Set "
                f"{PREFIX}ADMIN_ADVERTISED_HOST to this machine's."
            )
        last = settings.port + 2 * settings.ports_per_cluster
        if settings.mode == "proxy" and last > 65535:
            raise ValueError(
                f"{PREFIX}PORT={settings.port} with {PREFIX}PORTS_PER_CLUSTER={settings.ports_per_cluster} "
                f"leads to node "
                f"ports up to {last}; there are none beyond 65535."
            )
        return settings


PREFIX = "HADASH_GATEWAY_"

#: Variables with the prefix that are not Gateway settings: those that the parent of several processes sets for each,
#: and those of the pages and the control plane for querying a Gateway.
_OTHERS = {
    f"{PREFIX}{name}"
    for name in (
        "WORKER",
        "READY_FD",
        "REQUEST_SECONDS",
        "ADMIN_HOSTS",
        "ANSWER_BYTES",
        "ANSWER_SECONDS",
        "HOURS_KEPT_DAYS",
        "SAMPLE_SECONDS",
    )
}

_KINDS = {int: "a whole number", float: "a number", str: "a text", tuple: "a list"}

_CHOICES: dict[str, tuple[str, ...]] = {
    "mode": ("proxy", "redirect"),
    "transactions": ("refuse", "relay"),
    "security_protocol": ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"),
    "sasl_mechanisms": ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"),
}

#: The numbers that may be 0; every other one is at least 1, or more than 0 seconds.
_MAY_BE_ZERO = {
    "max_parked",
    "max_parked_bytes",
    "away_lookup_seconds",
    "hang_up_seconds",
    "max_unauthenticated_per_host",
}

#: Addresses that stand for all addresses of the machine.
_EVERY_ADDRESS = {"0.0.0.0", "::", "0"}

_HIGHEST = {"port": 65535, "admin_port": 65535, "silence_seconds": 86400}


def _refuse_unknown(fields: Iterable[str]) -> None:
    """Refuse misspelt settings, which would otherwise have no effect.

    :raises ValueError: a variable with the prefix is not a setting.
    """
    known = {name.upper() for name in fields}
    for variable in sorted(os.environ):
        name = variable.removeprefix(PREFIX)
        if name == variable or name in known or variable in _OTHERS:
            continue
        hint = "".join(
            f" Did you mean {PREFIX}{close}?" for close in difflib.get_close_matches(name, known, 1)
        )
        if "SERVICE_" in name or "PORT_" in name:
            hint = " Kubernetes makes it for a service named hadash-gateway: set enableServiceLinks to false."
        raise ValueError(f"There is no setting {variable}.{hint}")


def _refuse_unusable(name: str, variable: str, text: str, value: object) -> None:
    if name in _CHOICES:
        wanted = _CHOICES[name]
        for one in value if isinstance(value, tuple) else (value,):
            if one not in wanted:
                raise ValueError(f"{variable}={text!r}: {one!r} is none of {', '.join(wanted)}.")
        if not value:
            raise ValueError(f"{variable}={text!r} names none of {', '.join(wanted)}.")
    if isinstance(value, int | float):
        zero = name in _MAY_BE_ZERO
        too_low = value < 0 or (value == 0 and not zero)
        if too_low or not math.isfinite(value):
            raise ValueError(f"{variable}={text!r} must be {'0 or more' if zero else 'more than 0'}.")
        if value > _HIGHEST.get(name, value):
            raise ValueError(f"{variable}={text!r} must be {_HIGHEST[name]} at most.")

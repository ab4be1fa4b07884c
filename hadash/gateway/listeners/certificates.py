"""A Gateway's TLS contexts, made from files, and made again when a file changes: certificates are renewed at run time.

A file that cannot be used changes nothing: the previous context stays in effect, and the log and ``/metrics`` say so.
Open connections keep the context they were made with; new ones use the one in effect.
"""

from __future__ import annotations

import asyncio
import logging
import re
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from cryptography import x509

from hadash.gateway.listeners.accounts import Accounts
from hadash.gateway.settings import PREFIX, GatewaySettings

log = logging.getLogger(__name__)

#: ``east=/etc/a.pem,west=/etc/b.pem``: a path for each cluster. Anything else is one path for all.
_BY_CLUSTER = re.compile(r"[A-Za-z0-9_-]+=[^,=]+(,[A-Za-z0-9_-]+=[^,=]+)*")

Stamp = tuple[int, int, int] | None


class BadCertificates(ValueError):
    """Files cannot be used. The message names their settings and the reason."""


@dataclass(frozen=True, slots=True)
class _Files:
    """Paths, each empty if not set."""

    authority: str
    certificate: str
    key: str
    #: The names of the three paths in settings or accounts.
    names: tuple[str, str, str]

    def __str__(self) -> str:
        paths = (self.authority, self.certificate, self.key)
        return " and ".join(f"{name}={path}" for name, path in zip(self.names, paths, strict=True) if path)

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(path for path in (self.authority, self.certificate, self.key) if path)


@dataclass(slots=True)
class _Made:
    """A context, and the files it was made from."""

    files: _Files
    make: Callable[[_Files], ssl.SSLContext]
    context: ssl.SSLContext
    stamps: tuple[Stamp, ...]
    #: When the certificates in effect expire, by path, in seconds since 1970.
    ends: Mapping[str, float]
    #: Why the present files cannot be used; empty if they can.
    fault: str = ""


class Certificates:
    """All contexts of a Gateway. Methods run in its loop.

    :raises BadCertificates: at the start, a file cannot be used.
    """

    def __init__(self, settings: GatewaySettings, accounts: Accounts, clusters: tuple[str, ...]) -> None:
        self._seconds = settings.certificate_seconds
        self._listening: _Made | None = None
        #: The context that listeners are created with: the first one, for good. Each handshake switches to the newest.
        self.server: ssl.SSLContext | None = None
        if settings.security_protocol.endswith("SSL"):
            self._listening = _made(_of_listener(settings), _server_context)
            self.server = self._listening.context
            self.server.sni_callback = self._take_newest
        setting = partial(_by_cluster_of, settings, clusters)
        ca, certificate, key = (setting(f"upstream_{name}") for name in ("ca", "certificate", "key"))
        self._own: dict[str, _Made] = {}
        self._appids: dict[tuple[str, str], _Made] = {}
        upstream = (f"{PREFIX}UPSTREAM_CA", f"{PREFIX}UPSTREAM_CERTIFICATE", f"{PREFIX}UPSTREAM_KEY")
        for cluster in clusters:
            held = _Files(ca.get(cluster, ""), certificate.get(cluster, ""), key.get(cluster, ""), upstream)
            self._own[cluster] = _made(held, _client_context)
        for (appid, cluster), account in accounts.certificates.items():
            where = f"appids.{appid}.{cluster}"
            names = (f"{PREFIX}UPSTREAM_CA", f"{where}.certificate", f"{where}.key")
            held = _Files(ca.get(cluster, ""), account.certificate, account.key, names)
            self._appids[appid, cluster] = _made(held, _client_context)

    def presents_own(self, cluster: str) -> bool:
        """Whether the Gateway has a certificate of its own for ``cluster``."""
        return bool(self._own[cluster].files.certificate)

    def own(self, cluster: str) -> ssl.SSLContext:
        """The context for connections to ``cluster`` with the Gateway's own certificate, if it has one."""
        return self._own[cluster].context

    def of(self, appid: str, cluster: str) -> ssl.SSLContext | None:
        """The context for connections to ``cluster`` with an AppID's own certificate; ``None`` if it has none there."""
        made = self._appids.get((appid, cluster))
        return None if made is None else made.context

    async def keep(self) -> None:
        """Check the files periodically, for ever."""
        while True:
            await asyncio.sleep(self._seconds)
            self.look()

    def look(self) -> None:
        """Put changed files into effect if they can be used."""
        for made in self._all():
            stamps = _stamps(made.files)
            if stamps == made.stamps and not made.fault:
                continue
            try:
                context, ends = _used(made.files, made.make)
                _refuse_expired(ends)
            except BadCertificates as error:
                if str(error) != made.fault:
                    log.error("%s What was in effect before stays.", error)
                made.fault = str(error)
                continue
            made.context, made.ends, made.stamps, made.fault = context, ends, stamps, ""
            log.info("read again: %s", ", ".join(made.files.paths))

    def expirations(self) -> dict[str, float]:
        """Return the seconds until the certificate in effect from each file expires; for a file of authorities, until
        the first of them does.
        """
        now = time.time()
        return {path: end - now for made in self._all() for path, end in made.ends.items()}

    def unusable(self) -> dict[str, bool]:
        """Return by file whether its present content cannot be used."""
        found: dict[str, bool] = {}
        for made in self._all():
            for path in made.files.paths:
                found[path] = found.get(path, False) or bool(made.fault)
        return found

    def _all(self) -> list[_Made]:
        listening = [self._listening] if self._listening is not None else []
        return [*listening, *self._own.values(), *self._appids.values()]

    def _take_newest(self, connection: ssl.SSLObject, name: str | None, context: ssl.SSLContext) -> None:
        """Switch a connection to the newest context. Called in each handshake, with or without a server name in it."""
        assert self._listening is not None
        connection.context = self._listening.context


def _of_listener(settings: GatewaySettings) -> _Files:
    """Return the listener's files.

    :raises BadCertificates: a setting is missing.
    """
    if not settings.tls_certificate or not settings.tls_key:
        raise BadCertificates(
            f"{settings.security_protocol} needs {PREFIX}TLS_CERTIFICATE and {PREFIX}TLS_KEY (PEM files)."
        )
    mutual = settings.security_protocol == "SSL"
    if mutual and not settings.tls_client_ca:
        raise BadCertificates(
            f"SSL takes who a client is from its certificate: set {PREFIX}TLS_CLIENT_CA to the PEM file of who issues "
            "them."
        )
    names = (f"{PREFIX}TLS_CLIENT_CA", f"{PREFIX}TLS_CERTIFICATE", f"{PREFIX}TLS_KEY")
    return _Files(settings.tls_client_ca if mutual else "", settings.tls_certificate, settings.tls_key, names)


def _by_cluster_of(settings: GatewaySettings, clusters: tuple[str, ...], name: str) -> dict[str, str]:
    return by_cluster(getattr(settings, name), clusters, f"{PREFIX}{name.upper()}")


def by_cluster(text: str, clusters: tuple[str, ...], setting: str) -> dict[str, str]:
    """Return the path for each cluster.

    :raises BadCertificates: the text names a cluster that the pair does not have.

    >>> by_cluster("/etc/ca.pem", ("east", "west"), "X")
    {'east': '/etc/ca.pem', 'west': '/etc/ca.pem'}
    >>> by_cluster("west=/etc/west.pem", ("east", "west"), "X")
    {'west': '/etc/west.pem'}
    """
    if not text:
        return {}
    if not _BY_CLUSTER.fullmatch(text):
        return dict.fromkeys(clusters, text)
    found = {}
    for part in text.split(","):
        name, _, path = part.partition("=")
        if name not in clusters:
            raise BadCertificates(
                f"{setting}={text} names cluster {name!r}; there are {', '.join(clusters)}."
            )
        found[name] = path
    return found


def _made(files: _Files, make: Callable[[_Files], ssl.SSLContext]) -> _Made:
    """Make a context from files. An expired certificate is only logged.

    :raises BadCertificates: the files cannot be used.
    """
    if files.key and not files.certificate:
        raise BadCertificates(f"{files}: set {files.names[1]} too, the certificate of this key.")
    stamps = _stamps(files)
    context, ends = _used(files, make)
    try:
        _refuse_expired(ends)
    except BadCertificates as error:
        log.error("%s", error)  # peers that check the certificate refuse it; others need not be cut off
    return _Made(files, make, context, stamps, ends)


def _used(
    files: _Files, make: Callable[[_Files], ssl.SSLContext]
) -> tuple[ssl.SSLContext, Mapping[str, float]]:
    """Return the context, and when its certificates expire.

    :raises BadCertificates: the files cannot be used. The message names them.
    """
    try:
        context, ends = make(files), {}
        if files.authority:
            ends[files.authority] = _first_end(_ends(files.authority))
        if files.certificate:
            ends[files.certificate] = _ends(files.certificate)[0]
    except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
        raise BadCertificates(f"{files} cannot be used ({error}).") from None
    return context, ends


def _ends(path: str) -> list[float]:
    found = x509.load_pem_x509_certificates(Path(path).read_bytes())
    return [one.not_valid_after_utc.timestamp() for one in found]


def _first_end(ends: list[float]) -> float:
    """Return when the next of several authorities expires. (Bundles keep expired ones, which do no harm.)"""
    now = time.time()
    return min((end for end in ends if end > now), default=max(ends))


def _refuse_expired(ends: Mapping[str, float]) -> None:
    now = time.time()
    for path, end in ends.items():
        if end <= now:
            raise BadCertificates(f"{path} holds a certificate that has expired.")


def _stamps(files: _Files) -> tuple[Stamp, ...]:
    """Return the facts by which a changed file is recognized: time, size and inode of each."""
    return tuple(_stamp(path) for path in files.paths)


def _stamp(path: str) -> Stamp:
    try:
        found = Path(path).stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _server_context(files: _Files) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(files.certificate, files.key)
    if files.authority:
        context.load_verify_locations(files.authority)
        context.verify_mode = ssl.CERT_REQUIRED
        # A resumed session is not verified again, and would outlive its authority.
        context.num_tickets = 0
        context.options |= ssl.OP_NO_TICKET
    return context


def _client_context(files: _Files) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=files.authority or None)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if files.certificate:
        context.load_cert_chain(files.certificate, files.key or None)
    return context

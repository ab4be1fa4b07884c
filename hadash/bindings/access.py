"""How hadash signs in to its ZooKeeper, and which user owns its nodes.

If a user is configured, every node is created for that user alone (ZooKeeper's scheme ``digest``): no other user can
read, change or delete it. The password is sent in the clear, so it should be combined with TLS wherever others can
listen.

ZooKeeper's SASL is not supported: if a connection is dropped during the SASL exchange (a server restarts), kazoo takes
that for a wrong password and never connects again. A Gateway would keep the bindings of that moment.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kazoo.security import ACL, make_digest_acl

PREFIX = "HADASH_ZOOKEEPER_"


@dataclass(frozen=True, slots=True)
class Access:
    """Credentials and certificates; without any, the connection to ZooKeeper is anonymous and unencrypted."""

    #: hadash's user in ZooKeeper, and its password: nodes that hadash creates are this user's alone.
    user: str = ""
    password: str = field(default="", repr=False)
    #: The authority that issues the servers' certificates (PEM). If it is set, the connection is TLS and the servers'
    #: names are checked.
    ca: str = ""
    #: hadash's own certificate (PEM) and its key, for servers that require one.
    certificate: str = ""
    key: str = ""
    #: Set while the password is replaced. A process with both passwords can read the nodes of processes that have the
    #: old one only, and those processes can read the nodes that it creates.
    old_password: str = field(default="", repr=False)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> Access:
        """Read ``HADASH_ZOOKEEPER_USER``, ``_PASSWORD`` or ``_PASSWORD_FILE``, ``_OLD_PASSWORD`` or
        ``_OLD_PASSWORD_FILE``, ``_TLS_CA``, ``_TLS_CERTIFICATE``, ``_TLS_KEY``.

        :raises ValueError: a variable requires another one, or cannot be used. The message names it.
        """

        def value(name: str) -> str:
            return environment.get(f"{PREFIX}{name}", "").strip()

        def secret(name: str) -> str:
            word, file = value(name), value(f"{name}_FILE")
            if word and file:
                raise ValueError(f"Set {PREFIX}{name} or {PREFIX}{name}_FILE, not both.")
            if not file:
                return word
            try:
                return Path(file).read_text().strip()
            except OSError as error:
                raise ValueError(f"{PREFIX}{name}_FILE={file!r} cannot be read: {error.strerror}.") from None

        found = cls(
            value("USER"),
            secret("PASSWORD"),
            value("TLS_CA"),
            value("TLS_CERTIFICATE"),
            value("TLS_KEY"),
            secret("OLD_PASSWORD"),
        )
        if found.old_password and not found.user:
            raise ValueError(f"{PREFIX}OLD_PASSWORD needs {PREFIX}USER and the new password.")
        if bool(found.user) != bool(found.password):
            raise ValueError(
                f"{PREFIX}USER and a password ({PREFIX}PASSWORD or _PASSWORD_FILE) belong together."
            )
        if ":" in found.user:
            raise ValueError(
                f"{PREFIX}USER must not contain a colon: ZooKeeper's digest ends the name there."
            )
        if bool(found.certificate) != bool(found.key):
            raise ValueError(f"{PREFIX}TLS_CERTIFICATE and {PREFIX}TLS_KEY belong together.")
        if found.certificate and not found.ca:
            raise ValueError(
                f"{PREFIX}TLS_CERTIFICATE needs {PREFIX}TLS_CA: who issues the servers' certificates."
            )
        for name, path in (("CA", found.ca), ("CERTIFICATE", found.certificate), ("KEY", found.key)):
            if path and not os.access(path, os.R_OK):
                raise ValueError(f"{PREFIX}TLS_{name}={path!r} cannot be read.")
        return found

    @property
    def acl(self) -> list[ACL] | None:
        """The ACL of every node: all rights for the user, none for others. ``None`` without a user: open to all."""
        return [make_digest_acl(self.user, self.password, all=True)] if self.user else None

    def options(self) -> dict[str, Any]:
        """The arguments for :class:`kazoo.client.KazooClient`."""
        options: dict[str, Any] = {}
        if self.user:
            passwords = [self.password, *([self.old_password] if self.old_password else [])]
            options |= {
                "auth_data": [("digest", f"{self.user}:{password}") for password in passwords],
                "default_acl": [make_digest_acl(self.user, password, all=True) for password in passwords],
            }
        if self.ca:
            options |= {"use_ssl": True, "ca": self.ca, "verify_certs": True, "check_hostname": True}
        if self.certificate:
            options |= {"certfile": self.certificate, "keyfile": self.key}
        return options

"""Where the stack's servers are. Without them a test fails with one sentence."""

from __future__ import annotations

import json
import os
import ssl
from dataclasses import dataclass
from typing import Any

import pytest
from django.db import connection


def required(variable: str) -> str:
    """The value of an environment variable that the stack sets; the test fails when it is missing."""
    value = os.environ.get(variable)
    if not value:
        pytest.fail(
            f"{variable} is not set: this test needs the embedded stack. Run `make test`, which starts it.",
            pytrace=False,
        )
    return value


@dataclass(frozen=True, slots=True)
class Cluster:
    """One cluster of the stack, and who administers it."""

    name: str
    number: int
    bootstrap_servers: str
    admin_user: str
    admin_password: str
    #: Who issued its certificate (a PEM file); empty for a cluster without TLS.
    authority: str = ""

    @property
    def security_protocol(self) -> str:
        return "SASL_SSL" if self.authority else "SASL_PLAINTEXT"

    def tls(self) -> ssl.SSLContext | None:
        return ssl.create_default_context(cafile=self.authority) if self.authority else None

    def transport_config(self) -> dict[str, Any]:
        """librdkafka settings for its security protocol."""
        tls = {"ssl.ca.location": self.authority} if self.authority else {}
        return {"security.protocol": self.security_protocol, **tls}

    @property
    def address(self) -> tuple[str, int]:
        host, _, port = self.bootstrap_servers.split(",")[0].rpartition(":")
        return host, int(port)

    def client_config(self, user: str = "", password: str = "", mechanism: str = "PLAIN") -> dict[str, Any]:
        """librdkafka settings; the admin's without a user."""
        return {
            "bootstrap.servers": self.bootstrap_servers,
            **self.transport_config(),
            "sasl.mechanism": mechanism,
            "sasl.username": user or self.admin_user,
            "sasl.password": password or self.admin_password,
            "log_level": 0,
        }


def clusters() -> dict[str, Cluster]:
    """The clusters by name: ``east`` and ``west``."""
    described = json.loads(required("HADASH_SANDBOX_CLUSTERS"))
    return {
        d["name"]: Cluster(d["name"], d["id"], d["bootstrap_servers"], d["admin_user"], d["admin_password"])
        for d in described
    }


def database_url() -> str:
    """The test's own database, for processes that a test starts."""
    told = connection.settings_dict
    return f"postgres://{told['USER']}:{told['PASSWORD']}@{told['HOST']}:{told['PORT']}/{told['NAME']}"

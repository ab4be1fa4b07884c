"""A mail server's certificate, and what it is found with."""

from __future__ import annotations

from pathlib import Path

import pytest
from dashboard.conftest import quick  # noqa: F401
from support.certificates import Authority, Issued

from hadash.outbox.smtp import Security, Server


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("ca"))


@pytest.fixture(scope="session")
def certificate(authority: Authority) -> Issued:
    return authority.issue("mail")


def server_at(
    port: int, security: str = "none", ca: Path | None = None, password: str = "", timeout: float = 10.0
) -> Server:
    user = "hadash" if password else ""
    return Server("127.0.0.1", port, Security(security), user, password, str(ca or ""), timeout)

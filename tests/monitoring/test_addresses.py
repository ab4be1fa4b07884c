"""``/healthz``, ``/readyz``, ``/metrics`` of the web server, and the id of each request."""

from __future__ import annotations

import logging
from ipaddress import ip_network
from types import SimpleNamespace
from typing import Any

import pytest
from dashboard.parts import signed_in
from django.test import Client
from prometheus_client.parser import text_string_to_metric_families

from hadash.monitoring import addresses, servers
from hadash.monitoring.probes import Probe

pytestmark = [pytest.mark.stack, pytest.mark.django_db(transaction=True)]

TOKEN = "a-long-token"


@pytest.fixture(autouse=True)
def servers_have_time(settings: Any) -> None:
    """On two busy cores the first answer of a server can take longer than the product's limit: no fault of it."""
    settings.HEALTH_SECONDS = settings.METRICS_SECONDS = 30


@pytest.fixture
def known(settings: Any) -> dict[str, str]:
    """The headers of a monitoring system, which may see everything."""
    settings.METRICS_TOKEN = TOKEN
    return {"Authorization": f"Bearer {TOKEN}"}


class TestHealth:
    def test_it_lives_whatever_its_name_is(self, client: Client) -> None:
        """Kubernetes asks by a pod's address."""
        response = client.get("/healthz", headers={"host": "10.1.2.3:8000"})
        assert (response.status_code, response.json()) == (200, {"status": "ok"})
        assert response.headers["Cache-Control"] == "no-store"
        assert not response.cookies

    def test_nothing_is_written_there(self, client: Client) -> None:
        response = client.post("/healthz")
        assert (response.status_code, response.headers["Allow"]) == (405, "GET, HEAD")


class TestReadiness:
    def test_strangers_hear_the_status_and_others_what_each_server_said(
        self, client: Client, known: dict[str, str]
    ) -> None:
        assert set(client.get("/readyz").json()) == {"status"}
        assert set(client.get("/readyz", headers={"Authorization": "Bearer wrong"}).json()) == {"status"}
        found = client.get("/readyz", headers=known).json()
        assert found["process"] == "web"
        said = {check["name"]: check for check in found["checks"]}
        assert said["postgresql"]["says"] == "answers; every migration is there"
        assert all(said[name]["ok"] for name in ("postgresql", "redis", "zookeeper"))
        assert [name for name, check in said.items() if check["needed"]] == ["postgresql"]

    def test_a_database_of_an_older_version_is_not_ready(
        self, client: Client, known: dict[str, str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        there = servers._migrations()
        monkeypatch.setattr(servers, "_migrations", lambda: there | {"switching.9999_of_tomorrow"})
        response = client.get("/readyz", headers=known)
        assert (response.status_code, response.json()["status"]) == (503, "not ready")
        (said,) = [check["says"] for check in response.json()["checks"] if check["name"] == "postgresql"]
        assert (
            said == "1 migrations are missing, such as switching.9999_of_tomorrow: run hadash-manage migrate."
        )

    def test_without_redis_pages_are_served(
        self, client: Client, known: dict[str, str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refused() -> str:
            raise ConnectionRefusedError("Error 111 connecting to 127.0.0.1:1. Connection refused.")

        probes = [Probe("redis", refused, is_needed=False), servers.postgresql(is_needed=True)]
        monkeypatch.setattr(addresses, "_PROBES", probes)
        response = client.get("/readyz", headers=known)
        assert (response.status_code, response.json()["status"]) == (200, "degraded")
        assert response.json()["checks"][0]["says"].startswith("Error 111 connecting")


class TestMetrics:
    def test_they_are_not_for_strangers(self, client: Client, settings: Any) -> None:
        settings.METRICS_TOKEN, settings.METRICS_NETWORKS = "", ()
        response = client.get("/metrics", headers={"Authorization": "Bearer "})
        assert response.status_code == 403
        assert "HADASH_METRICS_TOKEN" in response.content.decode()

    @pytest.mark.parametrize(
        ("address", "status"), [("10.0.0.7", 200), ("::ffff:10.0.0.7", 200), ("192.0.2.1", 403), ("", 403)]
    )
    def test_by_network(self, client: Client, settings: Any, address: str, status: int) -> None:
        settings.METRICS_NETWORKS = (ip_network("10.0.0.0/8"),)
        assert client.get("/metrics", REMOTE_ADDR=address).status_code == status

    def test_figures_of_the_process_and_of_the_installation_can_be_read(
        self, client: Client, known: dict[str, str], people: SimpleNamespace
    ) -> None:
        signed_in(people.vera).get("/appids/")
        response = client.get("/metrics", headers=known)
        assert response.headers["Content-Type"].startswith("text/plain; version=")
        families = {
            family.name: family for family in text_string_to_metric_families(response.content.decode())
        }
        up = {sample.labels["server"]: sample.value for sample in families["hadash_fleet_up"].samples}
        assert up == {"postgresql": 1, "redis": 1, "zookeeper": 1}
        views = {sample.labels["view"] for sample in families["hadash_http_requests"].samples}
        assert "appids" in views
        assert families["hadash_build_info"].samples[0].labels["version"]


class TestRequestIds:
    def test_an_answer_has_the_id_that_its_line_in_the_log_has(
        self, people: SimpleNamespace, caplog: pytest.LogCaptureFixture
    ) -> None:
        from hadash.telemetry.logs import WithIds

        caplog.handler.addFilter(WithIds())
        with caplog.at_level(logging.INFO, "hadash.requests"):
            response = signed_in(people.vera).get("/appids/?q=secret", headers={"X-Request-ID": "proxy-77"})
        assert response.headers["X-Request-ID"] == "proxy-77"
        (record,) = [record for record in caplog.records if record.name == "hadash.requests"]
        assert record.ids == {"request": "proxy-77", "person": "vera"}  # type: ignore[attr-defined]
        assert record.getMessage().startswith("GET /appids/ 200 ")
        assert record.fields["view"] == "appids"  # type: ignore[attr-defined]

    def test_nobody_writes_a_line_of_his_own_into_the_log(
        self, client: Client, caplog: pytest.LogCaptureFixture
    ) -> None:
        with caplog.at_level(logging.INFO, "hadash.requests"):
            client.get("/x%0A2026-11-26 ERROR hadash: all is lost")
        (record,) = [record for record in caplog.records if record.name == "hadash.requests"]
        assert "\n" not in record.getMessage()
        assert r"/x\n2026-11-26 ERROR" in record.getMessage()

    def test_a_request_that_nobody_has_numbered_gets_one(self, client: Client) -> None:
        first, second = (client.get("/sign-in/").headers["X-Request-ID"] for _ in range(2))
        assert first != second

    def test_whose_token_it_is_stands_in_what_is_logged_about_it(
        self, people: SimpleNamespace, caplog: pytest.LogCaptureFixture
    ) -> None:
        from hadash.accounts import tokens
        from hadash.telemetry.logs import WithIds

        _, secret = tokens.issue(people.vera, "nightly", {"read"}, 1)
        caplog.handler.addFilter(WithIds())
        with caplog.at_level(logging.INFO, "hadash.requests"):
            response = Client().get("/api/v1/pairs/", headers={"Authorization": f"Bearer {secret}"})
        assert response.status_code == 200
        (record,) = [record for record in caplog.records if record.name == "hadash.requests"]
        assert record.ids["person"] == "vera"  # type: ignore[attr-defined]

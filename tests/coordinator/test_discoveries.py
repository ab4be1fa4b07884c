"""Each discovery, with the real thing or a server that speaks its protocol."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from kazoo.client import KazooClient
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from support.waiting import eventually
from support.zookeeper import expire_session

from hadash.coordinator.__main__ import discoveries
from hadash.coordinator.discovery.ephemeral import EphemeralDiscovery
from hadash.coordinator.discovery.http import HttpDiscovery, consul, nacos
from hadash.coordinator.discovery.listing import DiscoveryUnavailable
from hadash.coordinator.discovery.static import StaticDiscovery
from hadash.coordinator.http_side import HttpSide
from hadash.coordinator.member.registration import Registration
from hadash.coordinator.process_settings import CoordinatorSettings
from hadash.coordinator.store import PoolStore


class Services:
    """The lists of instances of Consul and of Nacos, as their HTTP interfaces give them."""

    def __init__(self) -> None:
        self.instances: list[dict[str, Any]] = []
        self.fails = False
        routes = [
            Route("/v1/health/service/{name}", self._consul),
            Route("/nacos/v1/ns/instance/list", self._nacos),
            Route("/nacos/v3/client/ns/instance/list", self._nacos_3),
            Route("/elsewhere", lambda _: JSONResponse({"pages": 3})),
        ]
        self.http = HttpSide(Starlette(routes=routes), "127.0.0.1", 0)
        self.http.start()
        self.url = f"http://127.0.0.1:{self.http.port}"

    def add(self, name: str, port: int, *, healthy: bool = True, scheme: str = "") -> None:
        self.instances.append({"name": name, "port": port, "healthy": healthy, "scheme": scheme})

    async def _consul(self, request: Request) -> Response:
        """As https://developer.hashicorp.com/consul/api-docs/health#list-service-instances-for-service."""
        if request.headers.get("x-consul-token") != "secret":
            return PlainTextResponse("Permission denied", status_code=403)
        if self.fails:
            return PlainTextResponse("No cluster leader", status_code=500)
        wants_passing = "passing" in request.query_params
        return JSONResponse(
            [
                {
                    "Node": {"Node": "n1", "Address": "10.0.0.1"},
                    "Service": {
                        "ID": each["name"],
                        "Service": request.path_params["name"],
                        "Address": "",
                        "Port": each["port"],
                        "Meta": {"scheme": each["scheme"]} if each["scheme"] else None,
                    },
                    "Checks": [{"Status": "passing" if each["healthy"] else "critical"}],
                }
                for each in self.instances
                if each["healthy"] or not wants_passing
            ]
        )

    def _hosts(self) -> list[dict[str, Any]]:
        return [
            {
                "ip": "fd00::7",
                "port": each["port"],
                "healthy": each["healthy"],
                "enabled": True,
                "metadata": {"name": each["name"]},
            }
            for each in self.instances
        ]

    async def _nacos(self, request: Request) -> Response:
        """As https://nacos.io/docs/latest/manual/user/open-api/ (version 1: instances)."""
        return JSONResponse({"name": request.query_params["serviceName"], "hosts": self._hosts()})

    async def _nacos_3(self, request: Request) -> Response:
        return JSONResponse({"code": 0, "message": "success", "data": self._hosts()})


@pytest.fixture
def services() -> Iterator[Services]:
    made = Services()
    yield made
    made.http.stop()


def over_http(services: Services, kind: str, path: str, tmp_path: Path) -> Callable[[str], Any]:
    """The discovery of a pool as a coordinator makes it from its settings."""
    headers = tmp_path / "headers.json"
    headers.write_text(json.dumps({"X-Consul-Token": "secret"}))
    settings = CoordinatorSettings(
        discovery=kind, discovery_url=f"{services.url}{path}", discovery_headers_file=str(headers)
    )
    make = discoveries(settings, KazooClient())
    return lambda pool: make(pool, print)


def test_consul_lists_who_is_healthy(services: Services, tmp_path: Path) -> None:
    services.add("host-1", 8700)
    services.add("host-2", 8700, healthy=False)
    services.add("host-3", 8701, scheme="https")
    discovery = over_http(services, "consul", "/v1/health/service/{pool}?passing=1", tmp_path)("audit")
    assert discovery.members() == {"host-1": "http://10.0.0.1:8700", "host-3": "https://10.0.0.1:8701"}


@pytest.mark.parametrize(
    "path", ["/nacos/v1/ns/instance/list?serviceName=", "/nacos/v3/client/ns/instance/list?serviceName="]
)
def test_nacos_lists_who_is_healthy(services: Services, tmp_path: Path, path: str) -> None:
    services.add("host-1", 8700)
    services.add("host-2", 8700, healthy=False)
    discovery = over_http(services, "nacos", path + "{pool}", tmp_path)("audit")
    assert discovery.members() == {"host-1": "http://[fd00::7]:8700"}


def test_a_service_that_fails_says_nothing_of_members(services: Services, tmp_path: Path) -> None:
    discovery = over_http(services, "consul", "/v1/health/service/{pool}?passing=1", tmp_path)("audit")
    services.fails = True
    with pytest.raises(DiscoveryUnavailable, match="500"):
        discovery.members()
    services.fails = False
    assert discovery.members() == {}


def test_a_service_that_is_not_there(services: Services) -> None:
    services.http.stop()
    with pytest.raises(DiscoveryUnavailable, match="does not answer"):
        HttpDiscovery(f"{services.url}/v1/health/service/audit", consul).members()


@pytest.mark.parametrize("read", [consul, nacos])
def test_another_address_is_no_empty_list(services: Services, read: Any) -> None:
    """An answer that cannot be read must not look as if nobody were there: partitions would go from everybody."""
    with pytest.raises(DiscoveryUnavailable, match="something else than a list of instances"):
        HttpDiscovery(f"{services.url}/elsewhere", read).members()


class TestFile:
    def test_it_is_read_again_at_every_look(self, tmp_path: Path) -> None:
        file = tmp_path / "members.json"
        file.write_text('{"audit": {"host-1": "http://h1"}}')
        discovery = StaticDiscovery(file, "audit")
        assert discovery.members() == {"host-1": "http://h1"}
        file.write_text('{"audit": {"host-2": "http://h2"}, "other": {}}')
        assert discovery.members() == {"host-2": "http://h2"}
        assert StaticDiscovery(file, "nobody").members() == {}

    @pytest.mark.parametrize("content", ["", "[]", '{"audit": ["host-1"]}', '{"audit": {"host-1": 7}}'])
    def test_what_cannot_be_read_is_no_empty_list(self, tmp_path: Path, content: str) -> None:
        file = tmp_path / "members.json"
        file.write_text(content)
        with pytest.raises(DiscoveryUnavailable, match=r"members\.json is no JSON object"):
            StaticDiscovery(file, "audit").members()

    def test_a_file_that_is_missing(self, tmp_path: Path) -> None:
        with pytest.raises(DiscoveryUnavailable, match="No such file"):
            StaticDiscovery(tmp_path / "missing.json", "audit").members()


@pytest.mark.stack
class TestZooKeeper:
    @pytest.fixture
    def pool(self, zookeeper: KazooClient) -> str:
        PoolStore(zookeeper, "审计").create()
        return "审计"

    def test_members_are_listed_as_long_as_their_sessions_live(
        self,
        connect_client: Callable[..., KazooClient],
        zookeeper: KazooClient,
        zookeeper_hosts: str,
        pool: str,
    ) -> None:
        changes: list[object] = []
        discovery = EphemeralDiscovery(zookeeper, pool, changes.append)
        assert discovery.members() == {}
        client = connect_client()
        registration = Registration(client, pool, "主机/1", "http://10.0.0.1:8700")
        assert registration.take_name() and registration.enlist({})
        eventually(lambda: changes, "a call when a member comes")
        assert discovery.members() == {"主机/1": "http://10.0.0.1:8700"}
        expire_session(client, zookeeper_hosts)
        eventually(lambda: discovery.members() == {}, "the end of its session")

    def test_a_zookeeper_that_does_not_answer(
        self, connect_client: Callable[..., KazooClient], pool: str
    ) -> None:
        client = connect_client(bounded=True)
        client.stop()
        with pytest.raises(DiscoveryUnavailable, match="ZooKeeper cannot be reached"):
            EphemeralDiscovery(client, pool).members()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"discovery": "eureka"}, "'eureka' is none of zookeeper, static, consul, nacos"),
        ({"discovery": "static"}, "needs HADASH_COORDINATOR_DISCOVERY_FILE"),
        ({"discovery": "consul", "discovery_url": "http://c:8500"}, "with {pool} where the name"),
    ],
)
def test_settings_that_cannot_be_used_are_named(settings: dict[str, str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        discoveries(CoordinatorSettings(**settings), KazooClient())  # type: ignore[arg-type]

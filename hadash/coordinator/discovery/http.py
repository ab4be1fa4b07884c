"""Members that a service discovery lists over HTTP: Consul, or Nacos.

Both leave out an instance that fails its health check, or that a person has taken out (Consul's maintenance mode,
Nacos' *offline*): it is no member then.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import httpx

from hadash.coordinator.discovery.listing import DiscoveryUnavailable
from hadash.sentences import say

#: Seconds for an answer. Until then nothing is decided; a discovery that takes longer counts as away.
ANSWER_SECONDS = 3.0

#: From an answer to member → URL. :raises KeyError, TypeError, ValueError: it has another shape.
Read = Callable[[Any], dict[str, str]]


def consul(answer: Any) -> dict[str, str]:
    """Read the answer of Consul's ``/v1/health/service/<name>?passing=1``.

    The name of a member is its service id; the scheme is the metadata's ``scheme``, or http.

    >>> consul([{"Node": {"Address": "10.0.0.1"}, "Service": {"ID": "host-1", "Address": "", "Port": 8700}}])
    {'host-1': 'http://10.0.0.1:8700'}
    """
    return {
        str(each["Service"]["ID"]): _url(
            (each["Service"].get("Meta") or {}).get("scheme"),
            each["Service"].get("Address") or each["Node"]["Address"],
            each["Service"]["Port"],
        )
        for each in answer
    }


def nacos(answer: Any) -> dict[str, str]:
    """Read the answer of Nacos' ``/nacos/v1/ns/instance/list?serviceName=<name>``, or that of its versions 2 and 3,
    which have the same in ``data``.

    The name of a member is the metadata's ``name``, or its address; the scheme is the metadata's ``scheme``, or http.

    >>> nacos({"hosts": [{"ip": "10.0.0.1", "port": 8700, "healthy": True, "metadata": {"name": "host-1"}},
    ...                  {"ip": "10.0.0.2", "port": 8700, "healthy": False, "metadata": {}}]})
    {'host-1': 'http://10.0.0.1:8700'}
    """
    return {
        str((each.get("metadata") or {}).get("name") or f"{each['ip']}:{each['port']}"): _url(
            (each.get("metadata") or {}).get("scheme"), each["ip"], each["port"]
        )
        for each in _instances(answer)
        if each["healthy"] and each.get("enabled", True)
    }


def _instances(answer: Any) -> Any:
    data = answer.get("data", answer)
    return data if isinstance(data, list) else data["hosts"]


def _url(scheme: str | None, host: Any, port: Any) -> str:
    host = f"[{host}]" if ":" in str(host) else host
    return f"{scheme or 'http'}://{host}:{int(port)}"


#: The kinds of discoveries by their names in settings.
KINDS: Mapping[str, Read] = {"consul": consul, "nacos": nacos}


class HttpDiscovery:
    """The members that a service lists at a URL.

    :param url: what is asked, with the name of the service.
    :param read: one of :data:`KINDS`.
    :param headers: such as Consul's ``X-Consul-Token``.
    """

    def __init__(self, url: str, read: Read, headers: Mapping[str, str] | None = None) -> None:
        self._url = url
        self._read = read
        self._client = httpx.Client(headers=dict(headers or {}), timeout=ANSWER_SECONDS)

    def members(self) -> Mapping[str, str]:
        try:
            answer = self._client.get(self._url)
            answer.raise_for_status()
        except httpx.HTTPError as error:
            raise DiscoveryUnavailable(
                say("%(url)s does not answer: %(reason)s.", url=self._url, reason=str(error) or repr(error))
            ) from error
        try:
            return self._read(answer.json())
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise DiscoveryUnavailable(
                say(
                    "%(url)s answers with something else than a list of instances. Check the address and the kind of "
                    "the discovery.",
                    url=self._url,
                )
            ) from error

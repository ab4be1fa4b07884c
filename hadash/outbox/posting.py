"""Posts one message over HTTP to an address that a user entered: never into private networks, and without
following redirects.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

import httpx

from hadash.outbox.failures import Deferred, Gone, NotOurs, Refused, Unavailable, Untold
from hadash.sentences import Sentence, say

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Address = ipaddress.IPv4Address | ipaddress.IPv6Address

#: The share of the whole timeout for connecting, and again for TLS: if these time out nothing was handed over,
#: unlike when the answer is missing.
CONNECTING = 1 / 3

#: Bytes of an answer that are read, at most.
MOST_ANSWER = 64 * 1024


class BadEndpoint(ValueError):
    """An address cannot be posted to; ``sentence`` says why, and what to do."""

    def __init__(self, sentence: Sentence) -> None:
        super().__init__(str(sentence))
        self.sentence = sentence


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a post. ``body``: decoded JSON, or text. ``said``: the status and the text in short."""

    status: int
    body: Any
    said: str


def addresses_of(host: str, port: int) -> list[Address]:
    """Return the addresses of a host. :raises OSError: it does not resolve."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [ipaddress.ip_address(str(each[4][0]).partition("%")[0]) for each in found]


def is_foreign(address: Address, allowed: Iterable[Network]) -> bool:
    """Return whether an address may be posted to: one of the internet, or in a network that the settings allow.

    >>> some = ("93.184.216.34", "10.0.0.1", "127.0.0.1", "169.254.169.254", "::1", "::ffff:10.0.0.1")
    >>> [is_foreign(ipaddress.ip_address(each), ()) for each in some]
    [True, False, False, False, False, False]
    >>> is_foreign(ipaddress.ip_address("10.0.0.1"), [ipaddress.ip_network("10.0.0.0/8")])
    True
    """
    mapped = _inner(address) or address
    if any(mapped in network for network in allowed if network.version == mapped.version):
        return True
    return bool(mapped.is_global and not mapped.is_multicast)


#: IPv6 networks whose addresses end with an IPv4 address (RFC 6052), to which a gateway forwards.
_NAT64 = (ipaddress.ip_network("64:ff9b::/96"), ipaddress.ip_network("64:ff9b:1::/48"))


def _inner(address: Address) -> Address | None:
    """Return the IPv4 address that an IPv6 address leads to; ``None`` if there is none.

    >>> _inner(ipaddress.ip_address("64:ff9b::a00:1")), _inner(ipaddress.ip_address("2002:a00:1::"))
    (IPv4Address('10.0.0.1'), IPv4Address('10.0.0.1'))
    """
    if not isinstance(address, ipaddress.IPv6Address):
        return None
    if any(address in network for network in _NAT64):
        return ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
    return address.ipv4_mapped or address.sixtofour or (address.teredo[1] if address.teredo else None)


def checked(url: str, *, plain_allowed: bool) -> str:
    """Return a URL without blanks around it, after checking it.

    :param plain_allowed: whether it may be http://.
    :raises BadEndpoint: it cannot be posted to.
    """
    try:
        parts = urlsplit(url.strip())
        port = parts.port
    except ValueError:
        raise BadEndpoint(say("“%(url)s” is no address.", url=url)) from None
    if parts.scheme not in ("https", "http") or not parts.hostname or "@" in parts.netloc or port == 0:
        raise BadEndpoint(say("“%(url)s” is no address that can be posted to: https://host/path.", url=url))
    if parts.scheme == "http" and not plain_allowed:
        raise BadEndpoint(say("Use https: over http everybody on the way reads it."))
    return url.strip()


def post(
    url: str,
    body: bytes,
    headers: Mapping[str, str],
    before_hand_over: Callable[[], bool],
    *,
    allowed: Iterable[Network] = (),
    timeout: float = 10.0,
    verify: Any = True,
    resolve: Callable[[str, int], list[Address]] = addresses_of,
) -> Answer:
    """Post to ``url``. Its host is resolved once, and the request goes to the resolved address.

    :param before_hand_over: called before anything is sent; ``False``: do not send.
    :param timeout: seconds for the whole post, also for a server that sends a byte at a time.
    :param verify: the certificates, as httpx takes them.
    :raises Refused: the address must not be posted to, or the answer is a permanent refusal.
    :raises Gone: the answer is 410.
    :raises Deferred: the answer asks to try later (408, 425, 429, 5xx).
    :raises Unavailable: the host does not resolve, or cannot be connected to.
    :raises Untold: no answer came.
    :raises NotOurs: ``before_hand_over`` returned ``False``.
    """
    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    host = parts.hostname or ""
    try:
        host = host.encode("idna").decode()
        found = resolve(host, port)
    except (OSError, UnicodeError) as error:
        raise Unavailable(f"Host {host} cannot be resolved: {error}") from error
    inside = [str(address) for address in found if not is_foreign(address, allowed)]
    if inside or not found:
        raise Refused(
            f"{host} ({', '.join(inside)}) is in a network of our own: nothing is posted there. If it "
            f"should be, name the network in "
            "HADASH_WEBHOOK_NETWORKS."
        )
    address = found[0]
    literal = f"[{address}]" if address.version == 6 else str(address)
    target = parts._replace(netloc=f"{literal}:{port}").geturl()
    # (TLS checks the certificate for the host's name, not for the resolved address.)
    name = f"[{host}]" if ":" in host else host
    named = f"{name}:{parts.port}" if parts.port else name
    sent = {**headers, "host": named, "content-type": "application/json", "user-agent": "hadash"}
    if not before_hand_over():
        raise NotOurs
    try:
        response, read = asyncio.run(_exchange(target, body, sent, host, timeout, verify))
    except (httpx.ConnectError, httpx.ConnectTimeout) as error:
        raise Unavailable(f"{host}:{port} does not answer: {error or type(error).__name__}") from error
    except (httpx.HTTPError, TimeoutError) as error:
        raise Untold(f"No answer came: {type(error).__name__} {error}".strip()) from error
    return _judged(_answer(response, read), response)


async def _exchange(
    target: str, body: bytes, sent: Mapping[str, str], host: str, timeout: float, verify: Any
) -> tuple[httpx.Response, bytes]:
    """Send the request; return the answer, and the first ``MOST_ANSWER`` bytes of its body.

    It is asynchronous for the overall timeout: httpx has timeouts only for each step, which a server that sends
    a byte now and then never reaches.
    """
    steps = httpx.Timeout(timeout, connect=timeout * CONNECTING)
    async with (
        asyncio.timeout(timeout),
        httpx.AsyncClient(timeout=steps, follow_redirects=False, verify=verify, trust_env=False) as client,
    ):
        request = client.build_request(
            "POST", target, content=body, headers=sent, extensions={"sni_hostname": host}
        )
        response = await client.send(request, stream=True)
        read = b""
        async for part in response.aiter_bytes():
            read += part
            if len(read) > MOST_ANSWER:
                break
        await response.aclose()
        return response, read


def _answer(response: httpx.Response, read: bytes) -> Answer:
    text = read[:MOST_ANSWER].decode("utf-8", "replace")
    try:
        body: Any = httpx.Response(200, content=read).json()
    except ValueError:
        body = text
    return Answer(
        response.status_code, body, f"{response.status_code} {' '.join(text.split())[:500]}".strip()
    )


def _judged(answer: Answer, response: httpx.Response) -> Answer:
    status = answer.status
    if 200 <= status < 300:
        return answer
    if 300 <= status < 400:
        raise Refused(f"{answer.said} (it leads elsewhere; that is not followed: change the address)".strip())
    if status == 410:
        raise Gone(answer.said)
    if status in (408, 425, 429) or status >= 500:
        raise Deferred(answer.said, _retry_after(response))
    raise Refused(answer.said)


def _retry_after(response: httpx.Response) -> float:
    """Return the seconds in Retry-After, which is a number or a date; 0 without it."""
    text = response.headers.get("retry-after", "").strip()
    if text.isdecimal():
        return float(text)
    try:
        at = parsedate_to_datetime(text)
        now = parsedate_to_datetime(response.headers["date"])
        return max(0.0, (at - now).total_seconds())
    except (ValueError, KeyError, TypeError):
        return 0.0

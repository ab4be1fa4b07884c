"""The header of the PROXY protocol, version 2: the real ends of a connection that a load balancer passes on.

https://www.haproxy.org/download/3.0/doc/proxy-protocol.txt. It comes before everything else on a connection, also
before a TLS handshake. Version 1 (text) is not supported.
"""

from __future__ import annotations

import struct
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import NamedTuple

from crc32c import crc32c

SIGNATURE = b"\r\n\r\n\0\r\nQUIT\n"

#: The fixed part before the addresses: signature, version and command, family and protocol, length of the rest.
_FIXED = struct.Struct("!12sBBH")
FIXED_BYTES = _FIXED.size

_VERSION = 2
_LOCAL, _PROXY = 0, 1

#: Address families, and transports.
_UNSPECIFIED, _INET, _INET6, _UNIX = range(4)
_ANY, _STREAM = 0, 1
_ADDRESSES = {_INET: struct.Struct("!4s4sHH"), _INET6: struct.Struct("!16s16sHH")}
_UNIX_BYTES = 216

#: The type and length of each value that follows the addresses.
_TLV = struct.Struct("!BH")
_CRC32C = 0x03
_CRC_BYTES = 4

_NO_HEADER = "it does not begin with a header of the PROXY protocol, version 2"
_CUT_OFF = "the connection ended inside its header of the PROXY protocol"

#: A header without addresses: its sender speaks for itself.
LOCAL = _FIXED.pack(SIGNATURE, _VERSION << 4 | _LOCAL, 0, 0)


class BadHeader(ValueError):
    """The bytes are not a header, or are one that must not be trusted. The message says why."""


class NothingCame(Exception):
    """The connection ended before its first byte, as a health check's does."""


class Endpoint(NamedTuple):
    host: str
    port: int


class Passed(NamedTuple):
    """The real ends of a connection: ``source`` connected to ``destination``."""

    source: Endpoint
    destination: Endpoint


@dataclass(frozen=True, slots=True)
class Networks:
    """The networks from which headers are trusted."""

    networks: tuple[IPv4Network | IPv6Network, ...]

    @classmethod
    def of(cls, texts: Iterable[str]) -> Networks:
        """Parse networks.

        :raises ValueError: a text is not a network. The message names it.

        >>> Networks.of(["10.0.0.0/8"]).holds("10.1.2.3"), Networks.of(["10.0.0.0/8"]).holds("::ffff:10.1.2.3")
        (True, True)
        >>> Networks.of([]).holds("127.0.0.1")
        False
        """
        networks = []
        for text in texts:
            try:
                networks.append(ip_network(text))
            except ValueError:
                raise ValueError(f"{text!r} is no address and no network") from None
        return cls(tuple(networks))

    def holds(self, host: str) -> bool:
        """Return whether ``host`` is in one of the networks."""
        if not self.networks:
            return False
        address = _address(host)
        return any(address in network for network in self.networks)


def encode(passed: Passed) -> bytes:
    """Return the header for a connection that is passed on. A mix of IPv4 and IPv6 is encoded as IPv6.

    >>> encode(Passed(Endpoint("10.0.0.1", 5000), Endpoint("10.0.0.2", 9092)))[12:].hex()
    '2111000c0a0000010a00000213882384'
    """
    source, destination = _address(passed.source.host), _address(passed.destination.host)
    family = _INET
    if source.version != destination.version or source.version == 6:
        family, source, destination = _INET6, _as_ipv6(source), _as_ipv6(destination)
    rest = _ADDRESSES[family].pack(
        source.packed, destination.packed, passed.source.port, passed.destination.port
    )
    return _FIXED.pack(SIGNATURE, _VERSION << 4 | _PROXY, family << 4 | _STREAM, len(rest)) + rest


def rest_length(fixed: bytes, most: int) -> int:
    """Return how many bytes follow the first :data:`FIXED_BYTES`.

    :param most: the most bytes that a whole header may have.
    :raises BadHeader: the bytes are not a header, or it is too long.
    """
    signature, version_command, _, length = _FIXED.unpack(fixed)
    if signature != SIGNATURE:
        raise BadHeader(_NO_HEADER)
    if version_command >> 4 != _VERSION:
        raise BadHeader(
            f"its header of the PROXY protocol has version {version_command >> 4}, not {_VERSION}"
        )
    if FIXED_BYTES + length > most:
        raise BadHeader(
            f"its header of the PROXY protocol has {FIXED_BYTES + length} bytes; {most} are allowed"
        )
    return int(length)


def parse(fixed: bytes, rest: bytes) -> Passed | None:
    """Return the ends that a whole header names; ``None`` when it names none (LOCAL, or addresses of a family that is
    not supported).

    :raises BadHeader: the header contradicts itself, or is not about TCP.
    """
    _, version_command, family_transport, _ = _FIXED.unpack(fixed)
    command, family, transport = version_command & 0xF, family_transport >> 4, family_transport & 0xF
    if command == _LOCAL:
        return None  # the specification says to ignore what else it holds
    if command != _PROXY:
        raise BadHeader(f"its header of the PROXY protocol has the unknown command {command}")
    if transport not in (_ANY, _STREAM) or family > _UNIX:
        raise BadHeader(f"its header of the PROXY protocol is not about TCP ({family_transport:#04x})")
    layout = _ADDRESSES.get(family)
    size = layout.size if layout is not None else _UNIX_BYTES if family == _UNIX else 0
    if len(rest) < size:
        raise BadHeader("its header of the PROXY protocol ends inside the addresses")
    _check_values(fixed, rest, size)
    if layout is None or transport == _ANY:
        return None
    source, destination, source_port, destination_port = layout.unpack_from(rest)
    return Passed(
        Endpoint(_text(source), source_port),
        Endpoint(_text(destination), destination_port),
    )


def _check_values(fixed: bytes, rest: bytes, at: int) -> None:
    """Ignore the values (TLVs) behind the addresses, except for a checksum.

    :raises BadHeader: a value is cut off, or the checksum is wrong.
    """
    while at < len(rest):
        if len(rest) - at < _TLV.size:
            raise BadHeader("its header of the PROXY protocol ends inside a value")
        kind, length = _TLV.unpack_from(rest, at)
        at += _TLV.size
        if len(rest) - at < length:
            raise BadHeader("its header of the PROXY protocol ends inside a value")
        if kind == _CRC32C:
            said = rest[at : at + length]
            whole = fixed + rest[:at] + bytes(length) + rest[at + length :]
            if length != _CRC_BYTES or int.from_bytes(said) != crc32c(whole):
                raise BadHeader("the checksum of its header of the PROXY protocol is wrong")
        at += length


async def read(receive: Callable[[int], Awaitable[bytes]], most: int) -> Passed | None:
    """Read a header, and no byte beyond it: what follows may be a TLS handshake.

    :param receive: returns at most the given number of bytes; none at the end of the connection.
    :param most: the most bytes of the header.
    :raises BadHeader: the bytes are not a valid header.
    :raises NothingCame: the connection ended before its first byte.
    """
    fixed = b""
    while len(fixed) < FIXED_BYTES:
        more = await receive(FIXED_BYTES - len(fixed))
        if not more and not fixed:
            raise NothingCame
        if not more:
            raise BadHeader(_CUT_OFF)
        fixed += more
        if not SIGNATURE.startswith(fixed[: len(SIGNATURE)]):
            raise BadHeader(_NO_HEADER)  # at once: no more bytes may be coming
    rest, length = b"", rest_length(fixed, most)
    while len(rest) < length:
        more = await receive(length - len(rest))
        if not more:
            raise BadHeader(_CUT_OFF)
        rest += more
    return parse(fixed, rest)


def _address(host: str) -> IPv4Address | IPv6Address:
    """Parse an address, without the zone that names one of the machine's own interfaces; a mapped IPv4 address becomes
    IPv4."""
    address = ip_address(host.partition("%")[0])
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address


def _as_ipv6(address: IPv4Address | IPv6Address) -> IPv6Address:
    return address if isinstance(address, IPv6Address) else IPv6Address(f"::ffff:{address}")


def _text(packed: bytes) -> str:
    return str(_address(str(ip_address(packed))))

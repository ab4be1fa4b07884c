"""The header of the PROXY protocol, version 2: as HAProxy's specification writes it, and as strangers may send it."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Awaitable, Callable

import pytest
from crc32c import crc32c
from hypothesis import given
from hypothesis import strategies as st

from hadash.gateway.protocol import proxy_protocol
from hadash.gateway.protocol.proxy_protocol import (
    FIXED_BYTES,
    LOCAL,
    SIGNATURE,
    BadHeader,
    Endpoint,
    Networks,
    NothingCame,
    Passed,
    encode,
    parse,
    rest_length,
)

MOST = 2048

IPV4 = Passed(Endpoint("192.0.2.7", 50_123), Endpoint("198.51.100.1", 9092))
IPV6 = Passed(Endpoint("2001:db8::7", 50_123), Endpoint("2001:db8::1", 9092))


def header(
    rest: bytes = b"", *, version: int = 2, command: int = 1, family: int = 0x11, signature: bytes = SIGNATURE
) -> bytes:
    return signature + bytes([version << 4 | command, family]) + struct.pack("!H", len(rest)) + rest


def value(kind: int, data: bytes) -> bytes:
    return struct.pack("!BH", kind, len(data)) + data


def with_values(passed: Passed, *values: bytes) -> bytes:
    plain = encode(passed)
    return header(plain[FIXED_BYTES:] + b"".join(values), family=plain[13])


def parsed(data: bytes, most: int = MOST) -> Passed | None:
    fixed, rest = data[:FIXED_BYTES], data[FIXED_BYTES:]
    assert rest_length(fixed, most) == len(rest)
    return parse(fixed, rest)


def test_the_bytes_of_the_specification() -> None:
    """Its section 2.2: signature; version 2 and PROXY; TCP over IPv4; 12 bytes; addresses and ports in
    network order.
    """
    assert encode(IPV4) == (
        b"\x0d\x0a\x0d\x0a\x00\x0d\x0a\x51\x55\x49\x54\x0a"
        b"\x21\x11\x00\x0c"
        b"\xc0\x00\x02\x07\xc6\x33\x64\x01"
        b"\xc3\xcb\x23\x84"
    )
    assert LOCAL == b"\x0d\x0a\x0d\x0a\x00\x0d\x0a\x51\x55\x49\x54\x0a\x20\x00\x00\x00"
    assert encode(IPV6)[12:16] == b"\x21\x21\x00\x24"


endpoints4 = st.builds(Endpoint, st.ip_addresses(v=4).map(str), st.integers(0, 65535))
endpoints6 = st.builds(
    Endpoint,
    st.ip_addresses(v=6).filter(lambda a: a.ipv4_mapped is None).map(str),
    st.integers(0, 65535),
)


@given(endpoints4 | endpoints6, endpoints4 | endpoints6)
def test_what_is_written_is_read(source: Endpoint, destination: Endpoint) -> None:
    """Also where one side is IPv4 and the other IPv6."""
    assert parsed(encode(Passed(source, destination))) == Passed(source, destination)


def test_an_ipv4_client_of_an_ipv6_socket_is_one_of_ipv4() -> None:
    mapped = Passed(Endpoint("::ffff:192.0.2.7", 50_123), Endpoint("::ffff:198.51.100.1", 9092))
    assert encode(mapped) == encode(IPV4)


def test_an_interface_is_no_part_of_an_address() -> None:
    local = Passed(Endpoint("fe80::1%eth0", 1), Endpoint("fe80::2%eth0", 2))
    assert parsed(encode(local)) == Passed(Endpoint("fe80::1", 1), Endpoint("fe80::2", 2))


class TestNobodyElse:
    """Headers that say nothing of others: the connection's own address counts."""

    def test_local(self) -> None:
        assert parsed(LOCAL) is None

    def test_local_with_anything_behind_it(self) -> None:
        assert parsed(header(b"\xff" * 7, command=0, family=0xFF)) is None

    def test_an_unknown_family(self) -> None:
        assert parsed(header(family=0x00)) is None
        assert parsed(header(value(0x04, b"noop"), family=0x00)) is None

    def test_a_unix_socket(self) -> None:
        assert parsed(header(bytes(216), family=0x31)) is None


class TestValues:
    """TLVs behind the addresses."""

    @pytest.mark.parametrize("passed", [IPV4, IPV6])
    def test_they_are_passed_over(self, passed: Passed) -> None:
        data = with_values(
            passed,
            value(0x01, b"h2"),
            value(0x02, "例.example".encode()),
            value(0xEA, b""),
            value(0x04, bytes(900)),
        )
        assert parsed(data) == passed

    def test_a_checksum_that_holds(self) -> None:
        blank = with_values(IPV4, value(0x03, bytes(4)), value(0x05, b"id"))
        at = FIXED_BYTES + 12 + 3
        assert parsed(blank[:at] + struct.pack("!I", crc32c(blank)) + blank[at + 4 :]) == IPV4

    @pytest.mark.parametrize("said", [b"\0\0\0\0", b"\0\0\0", b""])
    def test_one_that_does_not(self, said: bytes) -> None:
        with pytest.raises(BadHeader, match="checksum"):
            parsed(with_values(IPV4, value(0x03, said)))

    @pytest.mark.parametrize("cut", [b"\x04", b"\x04\x00", b"\x04\x00\x05four", b"\x04\xff\xff"])
    def test_one_that_is_cut_off(self, cut: bytes) -> None:
        with pytest.raises(BadHeader, match="ends inside a value"):
            parsed(with_values(IPV4, cut))


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (header(signature=b"PROXY TCP4 1"), "does not begin"),  # version 1 is a text
        (header(version=1), "version 1, not 2"),
        (header(version=3), "version 3, not 2"),
        (header(command=2), "unknown command 2"),
        (header(command=15), "unknown command 15"),
        (header(bytes(12), family=0x12), "not about TCP"),  # UDP
        (header(bytes(12), family=0x41), "not about TCP"),
        (header(bytes(11)), "ends inside the addresses"),
        (header(bytes(35), family=0x21), "ends inside the addresses"),
        (header(bytes(215), family=0x31), "ends inside the addresses"),
        (header(bytes(MOST)), f"{MOST + 16} bytes; {MOST} are allowed"),
        (header(bytes(65535)), "are allowed"),
    ],
)
def test_what_is_no_header(data: bytes, why: str) -> None:
    with pytest.raises(BadHeader, match=why):
        parsed(data)


@given(st.binary(min_size=FIXED_BYTES, max_size=FIXED_BYTES), st.binary(max_size=300))
def test_whatever_comes_is_read_or_refused(fixed: bytes, rest: bytes) -> None:
    for begin in (fixed, SIGNATURE + fixed[12:]):
        try:
            length = rest_length(begin, MOST)
            parse(begin, rest[:length])
        except BadHeader:
            pass


class TestReading:
    """From a connection: in whatever pieces, and no byte too many."""

    @staticmethod
    def source(data: bytes, piece: int) -> tuple[Callable[[int], Awaitable[bytes]], Callable[[], bytes]]:
        left = [data]

        async def receive(size: int) -> bytes:
            taken, left[0] = left[0][: min(size, piece)], left[0][min(size, piece) :]
            return taken

        return receive, lambda: left[0]

    def read(self, data: bytes, piece: int = 1000) -> tuple[Passed | None, bytes]:
        receive, left = self.source(data, piece)
        return asyncio.run(proxy_protocol.read(receive, MOST)), left()

    @pytest.mark.parametrize("piece", [1, 5, 16, 1000])
    @pytest.mark.parametrize("passed", [IPV4, IPV6])
    def test_what_follows_stays(self, passed: Passed, piece: int) -> None:
        hello = b"\x16\x03\x01a client's hello"
        data = with_values(passed, value(0x04, b"x"))  # so that both have 16 bytes of something
        assert self.read(data + hello, piece) == (passed, hello)

    def test_local(self) -> None:
        assert self.read(LOCAL + b"more") == (None, b"more")

    def test_nothing(self) -> None:
        with pytest.raises(NothingCame):
            self.read(b"")

    @pytest.mark.parametrize("size", [1, 12, 15, 16, 20, 27])
    def test_an_end_inside(self, size: int) -> None:
        with pytest.raises(BadHeader, match="ended inside"):
            self.read(encode(IPV4)[:size])

    def test_who_speaks_kafka_is_refused_at_the_first_byte(self) -> None:
        """Not when its time is over: it waits for an answer."""
        with pytest.raises(BadHeader, match="does not begin"):
            self.read(b"\x00\x00\x00\x05")


class TestNetworks:
    def test_addresses_and_networks(self) -> None:
        networks = Networks.of(["10.0.0.0/8", "192.0.2.7", "2001:db8::/32"])
        inside = ["10.9.8.7", "::ffff:10.9.8.7", "192.0.2.7", "2001:db8::1"]
        outside = ["11.0.0.1", "192.0.2.8", "2001:db9::1", "::1", "127.0.0.1"]
        assert [host for host in inside + outside if networks.holds(host)] == inside

    @pytest.mark.parametrize("text", ["balancer.example", "10.0.0.1/8", "10.0.0", ""])
    def test_what_is_none(self, text: str) -> None:
        with pytest.raises(ValueError, match="is no address and no network"):
            Networks.of([text])

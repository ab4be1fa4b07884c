"""A post goes where its address says, to nobody inside, and what comes back means what it says."""

from __future__ import annotations

import ipaddress
import socket
import ssl
import threading
from typing import Any

import pytest
from support.certificates import Authority
from support.web import Posted, fine, web_server

from hadash.outbox.failures import Deferred, Gone, NotOurs, Refused, Unavailable, Untold
from hadash.outbox.posting import Answer, BadEndpoint, checked, post

LOOPBACK = (ipaddress.ip_network("127.0.0.0/8"),)


def handed() -> bool:
    return True


def posted(port: int, **how: Any) -> Answer:
    values = {"allowed": LOOPBACK, "timeout": 5.0, **how}
    return post(f"http://127.0.0.1:{port}/hook?a=b", b'{"a": 1}', {"webhook-id": "msg_1"}, handed, **values)


def test_it_arrives_as_it_is() -> None:
    with web_server() as there:
        answer = posted(there.port)
    (got,) = there.got
    assert (answer.status, answer.said) == (200, "200 ok")
    assert (got.path, got.body) == ("/hook?a=b", b'{"a": 1}')
    assert (got.headers["webhook-id"], got.headers["content-type"]) == ("msg_1", "application/json")
    assert got.headers["host"] == f"127.0.0.1:{there.port}"


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, Refused),
        (401, Refused),
        (404, Refused),
        (410, Gone),
        (408, Deferred),
        (429, Deferred),
        (500, Deferred),
        (503, Deferred),
    ],
)
def test_what_an_answer_means(status: int, error: type[Exception]) -> None:
    with (
        web_server(lambda _: (status, {}, b"because")) as there,
        pytest.raises(error, match=f"{status} because"),
    ):
        posted(there.port)


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_nobody_is_led_elsewhere(status: int) -> None:
    with web_server() as other:
        location = {"location": f"http://127.0.0.1:{other.port}/"}
        with (
            web_server(lambda _: (status, location, b"")) as there,
            pytest.raises(Refused, match="leads elsewhere"),
        ):
            posted(there.port)
    assert other.got == []


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "120"}, 120.0),
        ({"retry-after": "Thu, 26 Nov 2026 12:10:00 GMT", "date": "Thu, 26 Nov 2026 12:00:00 GMT"}, 600.0),
        ({"retry-after": "soon"}, 0.0),
        ({}, 0.0),
    ],
)
def test_it_comes_again_when_it_is_told_to(headers: dict[str, str], seconds: float) -> None:
    def later(_: Posted) -> tuple[int, dict[str, str], bytes]:
        return 429, headers, b""

    with web_server(later) as there, pytest.raises(Deferred) as caught:
        posted(there.port)
    assert caught.value.at_least == seconds


def test_nobody_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(Unavailable):
        posted(port)


def test_one_that_never_begins_with_tls_was_handed_nothing() -> None:
    """As a network that drops packets: it is tried again, since it cannot have arrived."""
    with socket.create_server(("127.0.0.1", 0)) as silent:  # (it takes the connection, and says no word)
        port = silent.getsockname()[1]
        with pytest.raises(Unavailable):
            post(
                f"https://localhost:{port}/",
                b"{}",
                {},
                lambda: True,
                allowed=LOOPBACK,
                timeout=0.6,
            )


def test_a_host_in_other_letters_is_posted_to_under_its_name_in_ascii() -> None:
    with web_server(fine) as there:
        answer = post(
            f"http://例子.中国:{there.port}/a", b"{}", {}, lambda: True, allowed=LOOPBACK,
            resolve=lambda host, port: [ipaddress.ip_address("127.0.0.1")],
        )  # fmt: skip
    assert answer.status == 200
    assert there.got[0].headers["host"] == f"xn--fsqu00a.xn--fiqs8s:{there.port}"


def test_no_answer_is_not_known() -> None:
    with web_server(lambda _: None) as there, pytest.raises(Untold):
        posted(there.port)
    given_up = threading.Event()

    def late(posted: Posted) -> tuple[int, dict[str, str], bytes]:
        given_up.wait()
        return fine(posted)

    with web_server(late) as there:
        with pytest.raises(Untold):
            posted(there.port, timeout=0.2)
        given_up.set()


def test_one_that_answers_a_byte_at_a_time_has_no_longer_than_others() -> None:
    """Each of its bytes comes in time; the answer never ends."""
    listening = socket.create_server(("127.0.0.1", 0))
    given_up = threading.Event()

    def drip() -> None:
        connection, _address = listening.accept()
        with connection:
            connection.sendall(b"HTTP/1.1 200 OK\r\n")
            while not given_up.wait(0.05):
                try:
                    connection.sendall(b"X-More: 1\r\n")
                except OSError:
                    return

    thread = threading.Thread(target=drip)
    thread.start()
    try:
        with pytest.raises(Untold, match="TimeoutError"):
            posted(listening.getsockname()[1], timeout=0.5)
    finally:
        given_up.set()
        thread.join()
        listening.close()


def test_a_long_answer_is_read_to_some_length() -> None:
    with web_server(lambda _: (200, {}, b"x" * 10_000_000)) as there:
        assert len(posted(there.port).body) == 64 * 1024


def test_what_is_another_senders_is_not_handed_over() -> None:
    with web_server() as there, pytest.raises(NotOurs):
        post(f"http://127.0.0.1:{there.port}/", b"{}", {}, lambda: False, allowed=LOOPBACK)
    assert there.got == []


class TestWithin:
    """What a worker reaches and others do not is no place for what somebody has typed."""

    @pytest.mark.parametrize(
        "address",
        [
            "127.0.0.1",
            "10.1.2.3",
            "192.168.0.1",
            "172.16.0.1",
            "169.254.169.254",
            "100.64.0.1",
            "0.0.0.0",
            "224.0.0.1",
            "::1",
            "fe80::1",
            "fd00::1",
            "::ffff:10.0.0.1",
        ],
    )
    def test_nothing_is_posted_there(self, address: str) -> None:
        with pytest.raises(Refused, match="HADASH_WEBHOOK_NETWORKS"):
            post(
                "https://hooks.example.org/",
                b"{}",
                {},
                handed,
                resolve=lambda *_: [ipaddress.ip_address(address)],
            )

    def test_nor_when_only_one_of_several_addresses_is_inside(self) -> None:
        both = [ipaddress.ip_address("93.184.216.34"), ipaddress.ip_address("10.0.0.1")]
        with pytest.raises(Refused):
            post("https://hooks.example.org/", b"{}", {}, handed, resolve=lambda *_: both)

    def test_other_ways_to_write_an_address_are_the_same_address(self) -> None:
        for host in ("0x7f000001", "2130706433", "127.1", "localhost"):
            with pytest.raises((Refused, Unavailable)):
                post(f"http://{host}/", b"{}", {}, handed)

    def test_a_name_is_asked_for_once(self) -> None:
        """One that leads elsewhere a moment later (DNS rebinding) leads nowhere else."""
        asked = []
        with web_server() as there:

            def resolve(host: str, port: int) -> list[Any]:
                asked.append(host)
                return [ipaddress.ip_address("127.0.0.1")]

            post(
                f"http://hooks.example.org:{there.port}/",
                b"{}",
                {},
                handed,
                allowed=LOOPBACK,
                resolve=resolve,
            )
        assert (
            asked == ["hooks.example.org"]
            and there.got[0].headers["host"] == f"hooks.example.org:{there.port}"
        )


class TestTls:
    def test_the_certificate_is_that_of_the_name(self, authority: Authority) -> None:
        certificate = authority.issue("hooks", hosts=("hooks.example.org",))
        context = ssl.create_default_context(cafile=authority.certificate)
        here = {
            "allowed": LOOPBACK,
            "verify": context,
            "resolve": lambda *_: [ipaddress.ip_address("127.0.0.1")],
        }
        with web_server(certificate=certificate) as there:
            assert post(f"https://hooks.example.org:{there.port}/", b"{}", {}, handed, **here).status == 200
            with pytest.raises(Unavailable, match="certificate"):
                post(f"https://other.example.org:{there.port}/", b"{}", {}, handed, **here)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "hooks.example.org",
        "ftp://a/",
        "https://",
        "https://a:b@c/",
        "https://a:0/",
        "http://[::1",
        "javascript:x",
    ],
)
def test_what_is_no_address(url: str) -> None:
    with pytest.raises(BadEndpoint):
        checked(url, plain_allowed=True)


def test_plain_http_only_where_it_is_allowed() -> None:
    assert checked("http://a.example/", plain_allowed=True) == "http://a.example/"
    with pytest.raises(BadEndpoint, match="https"):
        checked("http://a.example/", plain_allowed=False)

"""Detects that the machine at the other end is gone without notice: a host that lost its power, a cut line."""

from __future__ import annotations

import socket

#: Probes that may stay unanswered, within the seconds for which a machine may be silent.
PROBES = 3

#: The longest pause that Linux accepts.
LONGEST_PAUSE_SECONDS = 32767

#: Linux's number for the state of a connection on which neither side has hung up.
_TCP_ESTABLISHED = 1


def probe(connected: socket.socket, seconds: float) -> None:
    """End the connection when its other end answers nothing for ``seconds`` while nothing is under way. (Linux's own
    default is two hours.)"""
    pause = min(max(1, round(seconds / (PROBES + 1))), LONGEST_PAUSE_SECONDS)
    connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, pause)
    connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, pause)
    connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, PROBES)


def limit_silence(connected: socket.socket, seconds: float) -> None:
    """End the connection also when sent bytes are not acknowledged for ``seconds`` (Linux's own default is a quarter of
    an hour). Not for clients: a client that pauses reads nothing for as long as it likes."""
    probe(connected, seconds)
    connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, round(seconds * 1000))


def is_established(connected: socket.socket) -> bool:
    """Return whether neither side has hung up, as far as the kernel knows."""
    state = connected.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0]
    return bool(state == _TCP_ESTABLISHED)

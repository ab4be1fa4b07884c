"""System checks: wrong settings are reported at startup."""

from __future__ import annotations

import os
from ipaddress import ip_network
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning, register

from hadash.bindings import client
from hadash.bindings.access import Access
from hadash.inventory.addresses import SETTING, AllowedHosts


@register()
def didi_engines_have_their_time_within_a_block(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Check that DiDi's engine can apply a block in time: otherwise every block of its pairs would be rolled back."""
    if 0 <= settings.DIDI_APPLY_SECONDS < settings.SWITCH_BLOCK_SECONDS:
        return []
    return [
        Error(
            f"HADASH_DIDI_APPLY_SECONDS is {settings.DIDI_APPLY_SECONDS:g}, but a block has to be in effect within "
            f"HADASH_SWITCH_BLOCK_SECONDS ({settings.SWITCH_BLOCK_SECONDS:g}).",
            hint="Set it to what DiDi's brokers need to hear of a change: docs/dialects.md.",
            id="hadash.E010",
        )
    ]


@register()
def zookeeper_is_signed_in_to(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Check the access to ZooKeeper. Through an open one, an attacker can send clients to another cluster, and
    hadash's requests to any address.
    """
    try:
        access = Access.from_environment()
    except ValueError as error:
        return [Error(str(error), id="hadash.E011")]
    if not set(settings.ALLOWED_HOSTS) - settings.LOOPBACK_HOSTS:
        return []  # only reachable from this machine
    found: list[CheckMessage] = []
    if not access.user:
        found.append(
            Warning(
                "HADASH_ZOOKEEPER_USER is not set: everybody who reaches ZooKeeper can change bindings.",
                hint=(
                    "Set it with a password for every process, then run hadash-manage secure_zookeeper: "
                    "docs/own-clusters.md."
                ),
                id="hadash.W011",
            )
        )
    if not access.ca:
        found.append(
            Warning(
                "HADASH_ZOOKEEPER_TLS_CA is not set: what is said to ZooKeeper, and its password, can be read "
                "on the way.",
                hint=(
                    "Set it where others can reach into the network between hadash and ZooKeeper: "
                    "docs/own-clusters.md."
                ),
                id="hadash.W012",
            )
        )
    return found


@register()
def zookeeper_has_a_chroot(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Check that the chroot is not the root: otherwise hadash would treat the nodes of other applications as
    its own, and secure_zookeeper would lock their owners out.
    """
    if client.CHROOT.strip("/ "):
        return []
    return [
        Error(
            f"HADASH_ZOOKEEPER_CHROOT is {client.CHROOT!r}: everything in that ZooKeeper would be hadash's.",
            hint="Give hadash a path of its own, such as /hadash.",
            id="hadash.E014",
        )
    ]


@register()
def hosts_of_rules_can_be_read(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Check the hosts for ACLs: with a wrong one every precheck would fail."""
    for host in settings.SWITCH_ACL_HOSTS:
        try:
            ip_network(host)
        except ValueError:
            return [
                Error(
                    f"HADASH_SWITCH_ACL_HOSTS: {host!r} is no address and no network.",
                    hint="Brokers compare addresses: 10.0.0.7 or 10.0.0.0/24, separated by commas.",
                    id="hadash.E013",
                )
            ]
    return []


@register()
def hosts_of_gateways_can_be_read(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    try:
        AllowedHosts.of(settings.GATEWAY_ADMIN_HOSTS)
    except ValueError as error:
        return [Error(str(error), id="hadash.E012")]
    exposed = not settings.DEBUG and set(settings.ALLOWED_HOSTS) - settings.LOOPBACK_HOSTS
    if exposed and SETTING not in os.environ:
        return [
            Warning(
                f"{SETTING} is not set: who can write to ZooKeeper has this server fetch from any host of "
                f"a private network.",
                hint="Name your Gateways' networks or hosts there and nothing else: docs/own-clusters.md.",
                id="hadash.W013",
            )
        ]
    return []

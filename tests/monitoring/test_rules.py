"""The alert rules and the Grafana dashboard speak of figures that exist, with labels that they have; each
alert has its paragraph.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import promql_parser as promql
import pytest
import yaml
from dashboard.conftest import fleet
from gateway.conftest import control, gateway, gateway_chroot
from prometheus_client.metrics import MetricWrapperBase
from prometheus_client.parser import text_string_to_metric_families
from support.gateway import GatewayProcess

from hadash.coordinator import http_status
from hadash.monitoring import fleet as figures
from hadash.monitoring import metrics

__all__ = ["control", "fleet", "gateway", "gateway_chroot"]
ROOT = Path(__file__).resolve().parents[2]
ALERTS = ROOT / "deploy" / "prometheus" / "alerts.yaml"
DASHBOARD = ROOT / "deploy" / "grafana" / "hadash.json"
GUIDE = ROOT / "docs" / "monitoring.md"

#: What Prometheus itself adds.
OF_PROMETHEUS = {"up": set()}
LABELS_OF_PROMETHEUS = {"job", "instance"}
#: Labels of figures that have no series as long as no Gateway was asked for anything, and no partition compared.
LABELS_WITHOUT_SERIES = {
    "hadash_audit_age_seconds": {"pair"},
    "hadash_gateway_refused": {"reason"},
    "hadash_gateway_requests": {"kind", "cluster"},
    "hadash_gateway_request_bytes": {"kind", "cluster"},
    "hadash_gateway_answer_bytes": {"kind", "cluster"},
    "hadash_gateway_certificate_expires_seconds": {"file"},
    "hadash_gateway_certificate_unusable": {"file"},
}
#: Ends of the names of one family's series.
SUFFIXES = ("", "_total", "_bucket", "_count", "_sum")


def rules() -> list[dict[str, Any]]:
    return [rule for group in yaml.safe_load(ALERTS.read_text())["groups"] for rule in group["rules"]]


def panels() -> list[dict[str, Any]]:
    return [panel for panel in json.loads(DASHBOARD.read_text())["panels"] if panel["type"] != "row"]


def expressions() -> Iterator[tuple[str, str]]:
    for rule in rules():
        yield rule["alert"], rule["expr"]
    for panel in panels():
        for target in panel["targets"]:
            yield f"{panel['title']} {target['refId']}", target["expr"]


def selectors(node: Any) -> Iterator[promql.VectorSelector]:
    """All that an expression reads."""
    if isinstance(node, promql.VectorSelector):
        yield node
    for name in ("expr", "lhs", "rhs", "vs", "vector_selector", "param"):
        child = getattr(node, name, None)
        if child is not None:
            yield from selectors(child)
    for child in getattr(node, "args", None) or ():
        yield from selectors(child)


def known_names(text: str) -> dict[str, set[str]]:
    """Family → its labels, of a page in Prometheus' text format."""
    return {
        family.name: {label for sample in family.samples for label in sample.labels}
        for family in text_string_to_metric_families(text)
    }


@pytest.mark.parametrize(("where", "expression"), list(expressions()))
def test_every_expression_can_be_parsed_and_reads_something(where: str, expression: str) -> None:
    assert list(selectors(promql.parse(expression))), expression


@pytest.mark.stack
@pytest.mark.django_db
def test_they_read_figures_that_exist_with_labels_that_they_have(
    fleet: object, gateway: GatewayProcess, settings: Any
) -> None:
    settings.AUDIT_ANCHORS = "/srv/anchors"  # (without it there is no figure of them)
    declared = {family.name: set() for family in metrics.REGISTRY.collect()}
    declared |= {
        metric._name: {*metric._labelnames, "le"}
        for metric in vars(metrics).values()
        if isinstance(metric, MetricWrapperBase)
    }
    for read in figures.SOURCES.values():
        declared |= {family.name: set(family._labelnames) for family in read()}
    declared |= {"hadash_fleet_up": {"server"}, "hadash_fleet_read_seconds": {"server"}}
    declared |= known_names(httpx.get(f"http://127.0.0.1:{gateway.admin_port}/metrics").text)
    coordinator = SimpleNamespace(fence=None, pools={}, errors={})
    declared |= {
        family.name: set(family._labelnames)
        for family in http_status.Figures(coordinator).collect()  # type: ignore[arg-type, attr-defined]
    }
    for name, labels in LABELS_WITHOUT_SERIES.items():
        declared[name] |= labels  # (a KeyError: there is no such figure)
    wrong = []
    for where, expression in expressions():
        for selector in selectors(promql.parse(expression)):
            if selector.name in OF_PROMETHEUS:
                continue
            family = next(
                (name for suffix in SUFFIXES if (name := selector.name.removesuffix(suffix)) in declared),
                None,
            )
            if family is None:
                wrong.append(f"{where}: there is no {selector.name}")
                continue
            asked = {matcher.name for matcher in selector.matchers.matchers}
            strange = asked - declared[family] - LABELS_OF_PROMETHEUS
            wrong += [f"{where}: {selector.name} has no label {label}" for label in sorted(strange)]
    assert not wrong


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule["alert"])
def test_every_alert_says_what_to_do(rule: dict[str, Any]) -> None:
    assert rule["labels"]["severity"] in ("page", "ticket")
    assert rule["annotations"]["summary"]
    heading = rf"^### {rule['alert']}$"
    assert re.search(heading, GUIDE.read_text(), re.MULTILINE), (
        f"docs/monitoring.md has no paragraph {rule['alert']}"
    )


def test_no_paragraph_is_about_an_alert_that_is_gone() -> None:
    told = set(re.findall(r"^### (Hadash\w+)$", GUIDE.read_text(), re.MULTILINE))
    assert told == {rule["alert"] for rule in rules()}

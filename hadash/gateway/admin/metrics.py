"""A Gateway's numbers for Prometheus. They are collected when Prometheus scrapes; nothing is computed before."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from hadash import VERSION

if TYPE_CHECKING:
    from hadash.gateway.context import GatewayContext


class GatewayCollector(Collector):
    """The metrics that ``/metrics`` returns."""

    def __init__(self, gateway: GatewayContext) -> None:
        self._gateway = gateway

    def collect(self) -> Iterable[Metric]:
        gateway, traffic, purgatory = self._gateway, self._gateway.traffic, self._gateway.purgatory
        yield GaugeMetricFamily(
            "hadash_gateway_applied_epoch",
            "The binding epoch up to which every change is in effect here.",
            gateway.binding_applier.applied.value,
        )
        yield GaugeMetricFamily(
            "hadash_gateway_zookeeper_connected",
            "1 while the session with ZooKeeper stands. Traffic goes on without it; bindings do not change.",
            int(gateway.health.zookeeper_connected),
        )
        yield GaugeMetricFamily(
            "hadash_gateway_zookeeper_forgotten",
            "1 while ZooKeeper knows fewer changes of bindings than the Gateway has seen.",
            int(gateway.binding_applier.zookeeper_lost_after is not None),
        )
        build = GaugeMetricFamily(
            "hadash_gateway_build_info", "1; the version of the Gateway as a label.", labels=["version"]
        )
        build.add_metric([VERSION], 1)
        yield build
        reached = GaugeMetricFamily(
            "hadash_gateway_cluster_reached",
            "1 if the cluster answered when the Gateway asked for its API versions.",
            labels=["cluster"],
        )
        for cluster, answered in gateway.health.reached.items():
            reached.add_metric([cluster], int(answered))
        yield reached
        yield self._connections()
        yield CounterMetricFamily(
            "hadash_gateway_sign_ins", "Connections that were signed in.", traffic.sign_ins
        )
        yield CounterMetricFamily(
            "hadash_gateway_renewed_sessions",
            "Sign-ins of the Gateway's own accounts that were renewed before their session ended.",
            traffic.renewed_sessions,
        )
        yield GaugeMetricFamily("hadash_gateway_parked", "Requests that wait now.", purgatory.count)
        yield GaugeMetricFamily("hadash_gateway_parked_bytes", "Bytes that they hold.", purgatory.bytes)
        for name, what, value in (
            ("parked", "Requests that were parked.", purgatory.parked_total),
            ("expired", "Parked requests whose time was over.", purgatory.expired_total),
            ("overflowed", "Requests for which there was no room to wait.", purgatory.overflowed_total),
        ):
            yield CounterMetricFamily(f"hadash_gateway_requests_{name}", what, value)
        reports = gateway.access_reports
        yield CounterMetricFamily(
            "hadash_gateway_access_reports", "Rows written to the lake.", reports.rows_written
        )
        yield CounterMetricFamily(
            "hadash_gateway_access_report_failures", "Batches that could not be written.", reports.failures
        )
        yield CounterMetricFamily(
            "hadash_gateway_access_reports_lost",
            "Rows that never reached the lake: it could not be written to for too long.",
            traffic.unreported,
        )
        yield from self._certificates()
        yield from self._requests()
        refused = CounterMetricFamily(
            "hadash_gateway_refused", "Connections and requests turned away.", labels=["reason"]
        )
        for reason, count in sorted(traffic.refused.items()):
            refused.add_metric([reason], count)
        yield refused
        resolve = HistogramMetricFamily("hadash_gateway_resolve_seconds", "Time to find a binding.")
        resolve.add_metric([], gateway.resolve_times.buckets(), gateway.resolve_times.total)
        yield resolve

    def _connections(self) -> Metric:
        found = GaugeMetricFamily("hadash_gateway_connections", "Open connections.", labels=["cluster"])
        by_cluster: dict[str, int] = dict.fromkeys(self._gateway.pair.clusters, 0)
        for client in self._gateway.clients:
            by_cluster[client.relay.cluster] += 1
        for cluster, count in by_cluster.items():
            found.add_metric([cluster], count)
        found.add_metric([""], len(self._gateway.connections) - sum(by_cluster.values()))
        return found

    def _certificates(self) -> Iterable[Metric]:
        expires = GaugeMetricFamily(
            "hadash_gateway_certificate_expires_seconds",
            "Until the certificate in a file ends that is in effect: of authorities, the first that does.",
            labels=["file"],
        )
        unusable = GaugeMetricFamily(
            "hadash_gateway_certificate_unusable",
            "1 while what lies in the file cannot be used: what was there before is in effect.",
            labels=["file"],
        )
        for path, seconds in sorted(self._gateway.certificates.expirations().items()):
            expires.add_metric([path], seconds)
        for path, faulty in sorted(self._gateway.certificates.unusable().items()):
            unusable.add_metric([path], int(faulty))
        return expires, unusable

    def _requests(self) -> Iterable[Metric]:
        labels = ["kind", "cluster"]
        requests = CounterMetricFamily("hadash_gateway_requests", "Requests to a cluster.", labels=labels)
        sent = CounterMetricFamily("hadash_gateway_request_bytes", "Bytes of requests.", labels=labels)
        answered = CounterMetricFamily("hadash_gateway_answer_bytes", "Bytes of answers.", labels=labels)
        for key, counter in sorted(self._gateway.traffic.requests.items()):
            requests.add_metric(key, counter.requests)
            sent.add_metric(key, counter.bytes_in)
            answered.add_metric(key, counter.bytes_out)
        return requests, sent, answered

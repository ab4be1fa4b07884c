"""The configs of one cluster's Topics and brokers, through librdkafka's admin client."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ConfigSource

from hadash.kafka.group_admin import REQUEST_SECONDS
from hadash.sentences import say

#: Topics whose configs are requested at once, at most: the answer has some hundred KiB.
CONFIGS_AT_ONCE = 500


class ConfigsClient:
    """The configs part of :class:`hadash.kafka.cluster.ClusterClient`, which describes its methods.

    :param result: waits for a future; raises :class:`KafkaError` with the given description.
    """

    def __init__(self, admin: Any, result: Callable[..., Any]) -> None:
        self._admin = admin
        self._result = result

    def of_brokers(self, brokers: Iterable[int]) -> dict[int, dict[str, str]]:
        found = self._describe(ConfigResource.Type.BROKER, [str(broker) for broker in brokers])
        return {
            int(name): {
                entry.name: entry.value
                for entry in entries.values()
                if entry.value is not None and not entry.is_sensitive
            }
            for name, entries in found.items()
        }

    def set_on_topics(self, names: Iterable[str]) -> dict[str, dict[str, str]]:
        return {
            name: {
                entry.name: entry.value
                for entry in entries.values()
                if not entry.is_default and entry.source == ConfigSource.DYNAMIC_TOPIC_CONFIG.value
            }
            for name, entries in self._describe(ConfigResource.Type.TOPIC, names).items()
        }

    def in_effect(self, names: Iterable[str], keys: Iterable[str]) -> dict[str, dict[str, str]]:
        wanted = list(keys)
        return {
            name: {key: entries[key].value for key in wanted if key in entries}
            for name, entries in self._describe(ConfigResource.Type.TOPIC, names).items()
        }

    def set(self, wanted: Mapping[str, Mapping[str, str]]) -> None:
        resources = [
            ConfigResource(
                ConfigResource.Type.TOPIC,
                name,
                incremental_configs=[
                    ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET)
                    for key, value in configs.items()
                ],
            )
            for name, configs in wanted.items()
            if configs
        ]
        if not resources:
            return
        asked = self._admin.incremental_alter_configs(resources, request_timeout=REQUEST_SECONDS)
        for resource, future in asked.items():
            self._result(future, say("could not set the configs of Topic %(topic)s", topic=resource.name))

    def _describe(self, kind: Any, names: Iterable[str]) -> dict[str, dict[str, Any]]:
        """Return the config entries of each resource. There is one request for some hundred Topics, and one for
        each broker (only it knows its configs, and librdkafka refuses a request for several). All requests are
        sent before the first answer is awaited.
        """
        wanted = list(names)
        found = {}
        each = 1 if kind == ConfigResource.Type.BROKER else CONFIGS_AT_ONCE
        sent = [
            self._admin.describe_configs(
                [ConfigResource(kind, name) for name in wanted[first : first + each]],
                request_timeout=REQUEST_SECONDS,
            )
            for first in range(0, len(wanted), each)
        ]
        for asked in sent:
            for resource, future in asked.items():
                what = say(
                    "could not read the configs of %(kind)s %(name)s",
                    kind=kind.name.lower(),
                    name=resource.name,
                )
                found[str(resource.name)] = self._result(future, what)
        return found

"""The errors of clusters and Connect. Their sentences name the server and are shown to users."""

from __future__ import annotations

from hadash.sentences import Explained, Sentence


class KafkaError(Explained):
    """A cluster refused or could not do something."""


class ClusterUnavailable(KafkaError):
    """A cluster does not answer."""


class SignInRefused(ClusterUnavailable):
    """A cluster refuses hadash's account, or TLS with it does not come about: it is there, and does not answer us."""


class NotOffered(KafkaError):
    """A cluster does not offer this: it has no authorizer, or is too old."""


class TopicsUnknown(KafkaError):
    """A cluster answers, but does not know Topics that it had. This also happens for a moment while it starts.

    ``topics`` are their names.
    """

    def __init__(self, said: Sentence | str, topics: tuple[str, ...]) -> None:
        super().__init__(said)
        self.topics = topics


class CoordinatorMoved(KafkaError):
    """A broker that was asked about a group is not its coordinator (any more, or yet)."""


class ConnectError(Explained):
    """Kafka Connect refused something. ``status`` is its HTTP status."""

    def __init__(self, said: Sentence | str, status: int = 0) -> None:
        super().__init__(said)
        self.status = status


class ConnectUnavailable(ConnectError):
    """Kafka Connect does not answer."""

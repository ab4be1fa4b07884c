"""Takes answers of librdkafka's admin client, and says what could not be done, and why."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from confluent_kafka import KafkaError as ClientError
from confluent_kafka import KafkaException

from hadash.kafka.errors import ClusterUnavailable, KafkaError, NotOffered, SignInRefused
from hadash.kafka.group_admin import REQUEST_SECONDS
from hadash.kafka.values import ClusterAccess
from hadash.sentences import Sentence, say


class Answers:
    """The answers of one cluster.

    :param poll: has the library deliver its pending events, to :meth:`heard`.
    """

    def __init__(self, access: ClusterAccess, poll: Callable[[], object]) -> None:
        self._access = access
        self._poll = poll
        #: The last reason for which a broker refused a sign-in or TLS. The library's results do not contain it:
        #: they only say that no broker answers.
        self._refusal = ""

    def heard(self, error: ClientError) -> None:
        """Note a refused sign-in or TLS handshake. Called by the library's threads."""
        if error.code() == ClientError._AUTHENTICATION:
            access = self._access
            account = f"account {access.username} ({access.sasl_mechanism})"
            self._refusal = f"it refuses {account}: {_after_broker(error.str())}"
        elif error.code() == ClientError._SSL:
            self._refusal = f"no TLS: {_after_broker(error.str())}"

    def answered(self) -> None:
        """Forget earlier refusals, because the cluster has answered: they do not explain later failures. The
        library keeps its events until it is polled, however old they are then.
        """
        self._poll()
        self._refusal = ""

    def result(self, future: Any, what: Sentence, ignore: tuple[int, ...] = ()) -> Any:
        """Return the value of a request's future; ``None`` for an error whose code is in ``ignore``.

        :param what: what could not be done. :raises KafkaError: it was not done.
        """
        try:
            value = future.result(timeout=REQUEST_SECONDS + 1)
            self.answered()
            return value
        except KafkaException as error:
            if error.args[0].code() in ignore:
                self.answered()
                return None
            raise self.failure(what, error.args[0]) from None
        except TimeoutError:
            raise ClusterUnavailable(
                say(
                    "Cluster %(cluster)s did not answer within %(seconds)s s: %(what)s.",
                    cluster=self._access.name,
                    seconds=f"{REQUEST_SECONDS:.0f}",
                    what=what,
                )
            ) from None

    def failure(self, what: Sentence, cause: ClientError) -> KafkaError:
        """Return the error to raise, with the reason that the library has told only by an event."""
        unavailable = cause.code() in (
            ClientError._TRANSPORT,
            ClientError._ALL_BROKERS_DOWN,
            ClientError._TIMED_OUT,
            ClientError._RESOLVE,
        )
        not_offered = cause.code() in (
            ClientError.SECURITY_DISABLED,
            ClientError.UNSUPPORTED_VERSION,
            ClientError._UNSUPPORTED_FEATURE,
        )
        kind = ClusterUnavailable if unavailable else NotOffered if not_offered else KafkaError
        said = cause.str()
        if unavailable:
            self._poll()  # delivers pending events, such as a refusal
            if self._refusal:
                kind = SignInRefused
            said, self._refusal = self._refusal or said, ""
        elif cause.code() > 0:  # a broker's error; negative codes are the library's
            self.answered()
        return kind(
            say(
                "Cluster %(cluster)s %(what)s: %(error)s.",
                cluster=self._access.name,
                what=what,
                error=said.rstrip("."),
            )
        )


def _after_broker(said: str) -> str:
    """Return librdkafka's message without the address in front (``sasl_ssl://e1:9092/bootstrap: ``) and the
    duration.

    >>> said = "SASL authentication error: Authentication failed (after 12ms in state AUTH_REQ)"
    >>> _after_broker(f"sasl_ssl://e1:9092/1: {said}")
    'SASL authentication error: Authentication failed'
    """
    text = said.split(": ", 1)[1] if "://" in said.split(": ", 1)[0] else said
    return text.rsplit(" (after ", 1)[0]

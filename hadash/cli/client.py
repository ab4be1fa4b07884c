"""A client of the API that turns its errors into sentences."""

from __future__ import annotations

import uuid
from typing import Any

import httpx

#: Seconds for an answer: a plan reads ZooKeeper and the clusters.
ANSWER_SECONDS = 60.0

#: How often a write is sent again when its answer was lost. It carries an idempotency key, so it is carried out once.
SEND_AGAIN = 2


class ApiError(Exception):
    """The API's error. ``code`` is the HTTP status, 0 when there was no answer."""

    def __init__(self, code: int, title: str, reasons: list[str]) -> None:
        super().__init__("\n".join([title, *reasons]))
        self.code, self.title, self.reasons = code, title, reasons

    @property
    def lost(self) -> bool:
        """Whether there was no answer, or only a proxy's: the request may have been carried out."""
        return self.code in (0, 502, 504)


class Api:
    """hadash at ``url``, as the owner of ``token``.

    :param transport: for tests; httpx's own otherwise.
    """

    def __init__(
        self, url: str, token: str, language: str = "en", transport: httpx.BaseTransport | None = None
    ):
        self._http = httpx.Client(
            base_url=f"{url.rstrip('/')}/api/v1/",
            headers={"Authorization": f"Bearer {token}", "Accept-Language": language},
            timeout=ANSWER_SECONDS,
            transport=transport,
        )

    def __enter__(self) -> Api:
        return self

    def __exit__(self, *exc: object) -> None:
        self._http.close()

    def get(self, path: str, **query: Any) -> Any:
        """Read ``path``; query parameters that are ``None`` are left out.

        :raises ApiError: the request was refused, or there was no answer.
        """
        params = {name: value for name, value in query.items() if value is not None}
        return self._read(self._sent("GET", path, params=params))

    def post(self, path: str, body: dict[str, Any] | None = None) -> Any:
        """Write to ``path``; the request is sent again when its answer is lost.

        :raises ApiError: the request was refused, or there was no answer.
        """
        return self._write("POST", path, body)

    def delete(self, path: str) -> None:
        """Delete ``path``; the request is sent again when its answer is lost.

        :raises ApiError: the request was refused, or there was no answer.
        """
        self._write("DELETE", path, None)

    def _write(self, method: str, path: str, body: dict[str, Any] | None) -> Any:
        key = {"Idempotency-Key": str(uuid.uuid4())}
        for left in range(SEND_AGAIN, -1, -1):
            try:
                return self._read(self._sent(method, path, json=body or {}, headers=key))
            except ApiError as error:
                if not error.lost or not left:
                    raise
        raise AssertionError("unreachable")

    def _sent(self, method: str, path: str, **more: Any) -> httpx.Response:
        try:
            return self._http.request(method, path, **more)
        except httpx.InvalidURL as error:
            raise ApiError(0, "This is no address", [str(error)]) from None
        except httpx.HTTPError as error:
            raise ApiError(
                0, f"{self._http.base_url} does not answer", [str(error) or type(error).__name__]
            ) from None

    @staticmethod
    def _read(response: httpx.Response) -> Any:
        if response.is_success:
            return response.json() if response.content else None
        try:
            problem = response.json()
            title = str(problem["title"])
        except (ValueError, KeyError, TypeError):
            raise ApiError(response.status_code, f"The answer was {response.status_code}", []) from None
        reasons = [str(reason) for reason in problem.get("reasons", [])]
        reasons += [f"{field}: {' '.join(faults)}" for field, faults in problem.get("errors", {}).items()]
        raise ApiError(response.status_code, title, reasons)

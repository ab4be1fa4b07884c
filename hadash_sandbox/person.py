"""A user without a browser: signs in, requests, approves and watches switches through hadash's own pages."""

from __future__ import annotations

import re
import time
from typing import Any

import httpx

from hadash_sandbox.errors import SandboxError

#: Seconds to wait for a page. A request for a switch is answered after HADASH_SWITCH_CHECK_SECONDS (30) and, for each
#: mirror, the comparison of records that is under way then. One took more than 60 on a machine busy with three lanes
#: of tests.
PAGE_SECONDS = 120.0
LOOK_SECONDS = 0.2

_TAGS = re.compile(r"<[^>]+>")


class RequestRefused(SandboxError):
    """hadash refused a request: no switch was created, and nothing was touched."""

    def __init__(self, code: int, said: str) -> None:
        """:param code: the HTTP status, 409 where hadash gives a reason. :param said: the text of the page."""
        super().__init__(f"The request was refused ({code}): {said}")
        self.code, self.said = code, said


class Person:
    """One signed-in user, with a session of their own.

    :raises SandboxError: the user could not sign in.
    """

    def __init__(self, url: str, username: str, password: str) -> None:
        # trust_env=False: no proxy, the server is on this machine.
        self._http = httpx.Client(base_url=url, timeout=PAGE_SECONDS, follow_redirects=True, trust_env=False)
        self.username = username
        self._appids: dict[str, str] = {}
        page = self._http.post(
            "sign-in/", data={**self._token("sign-in/"), "username": username, "password": password}
        )
        if "sign-in" in str(page.url):
            raise SandboxError(f"{username} could not sign in to {url}.")

    def _token(self, path: str) -> dict[str, str]:
        self._http.get(path)
        return {"csrfmiddlewaretoken": self._http.cookies["hadash_csrf"]}

    @property
    def cookies(self) -> httpx.Cookies:
        """The session's cookies, for use with another HTTP client."""
        return self._http.cookies

    def get(self, path: str) -> httpx.Response:
        return self._http.get(path)

    def post(self, path: str, **fields: str | list[str]) -> httpx.Response:
        """Submit a form; return the page that a browser would show, after redirects."""
        token = {"csrfmiddlewaretoken": self._http.cookies["hadash_csrf"]}
        return self._http.post(path, data={**token, **fields}, headers={"Referer": str(self._http.base_url)})

    def call(self, method: str, path: str, values: dict[str, Any] | None = None) -> Any:
        """Call the API with this session; return its answer as JSON.

        :raises SandboxError: the API answers with an error; the message has its text.
        """
        answer = self.answer(method, path, values)
        if not answer.is_success:
            raise SandboxError(f"The API refuses {method} {path} ({answer.status_code}): {answer.text[:600]}")
        return answer.json()

    def answer(self, method: str, path: str, values: dict[str, Any] | None = None) -> httpx.Response:
        """Call the API with this session; return its answer, an error included."""
        headers = {"X-CSRFToken": self._http.cookies["hadash_csrf"], "Referer": str(self._http.base_url)}
        return self._http.request(method, f"api/v1/{path}", json=values, headers=headers)

    def appid(self, name: str) -> str:
        """The primary key of an AppID, as in the address of its page. It is looked up once: it does not change.

        :raises SandboxError: the page of AppIDs does not list it.
        """
        if name in self._appids:
            return self._appids[name]
        page = self._http.get("appids/", params={"q": name}).text
        for number, label in re.findall(r'href="/appids/(\d+)/"[^>]*>(.*?)</a>', page, re.DOTALL):
            if _TAGS.sub("", label).strip() == name:
                return self._appids.setdefault(name, str(number))
        raise SandboxError(f"The page of AppIDs does not list {name}.")

    def request(
        self, appid: str, instance: str | None, target: str, reason: str, kind: str = "planned"
    ) -> str:
        """Request a switch, of a ``kind`` that has to be approved; return its key.

        :raises RequestRefused: hadash refuses it; the error has the text of the page.
        """
        answer = self.post(
            "switches/request/",
            appid=self.appid(appid),
            scope="instance" if instance else "appid",
            instance=instance or "",
            target=target,
            reason=reason,
            kind_of_switch=kind,
        )
        found = re.search(r"/switches/([0-9a-f]+)/$", str(answer.url))
        if answer.status_code != 200 or found is None:
            raise RequestRefused(answer.status_code, _text(answer.text))
        return found.group(1)

    def approve(self, key: str) -> httpx.Response:
        """Approve the plan that the switch's page shows now."""
        return self.post(f"switches/{key}/approve/", plan_digest=self.state(key)["plan_digest"])

    def state(self, key: str) -> dict[str, Any]:
        """The state of a switch, as its page polls it."""
        answer = self.get(f"switches/{key}/state.json")
        answer.raise_for_status()
        found: dict[str, Any] = answer.json()
        return found

    def await_end(self, key: str, seconds: float) -> dict[str, Any]:
        """Wait until the switch neither waits nor runs; return its last state.

        :raises SandboxError: it has not ended after ``seconds``.
        """
        deadline = time.monotonic() + seconds
        while True:
            state = self.state(key)
            if state["status"] not in ("awaiting_approval", "approved", "running"):
                return state
            if time.monotonic() > deadline:
                raise SandboxError(
                    f"Switch {key} is still {state['status']} ({state['stage']}) after {seconds:.0f} s."
                )
            time.sleep(LOOK_SECONDS)


def _text(page: str) -> str:
    """The text of the main part of a page, at most 600 characters."""
    main = page.split("<main", 1)[-1]
    return re.sub(r"\s+", " ", _TAGS.sub(" ", main))[:600]

"""A person at a browser, without the browser: signs in, asks, approves, watches, over hadash's own pages."""

from __future__ import annotations

import re
import time
from typing import Any

import httpx

from hadash_sandbox.errors import SandboxError

#: Seconds for a page. A request is answered after HADASH_SWITCH_CHECK_SECONDS (30) and the comparison of
#: records that is under way then, of each mirror; on a machine that is busy with three lanes of tests one has
#: taken more than 60.
PAGE_SECONDS = 120.0
LOOK_SECONDS = 0.2

_TAGS = re.compile(r"<[^>]+>")


class RequestRefused(SandboxError):
    """hadash has not taken a request: no switch was made, and nothing was touched."""

    def __init__(self, code: int, said: str) -> None:
        """:param code: HTTP's: 409 where it is refused for a reason. :param said: what the page says."""
        super().__init__(f"The request was refused ({code}): {said}")
        self.code, self.said = code, said


class Person:
    """One signed-in user with cookies of their own."""

    def __init__(self, url: str, username: str, password: str) -> None:
        # No proxy: the server is on this machine.
        self._http = httpx.Client(base_url=url, timeout=PAGE_SECONDS, follow_redirects=True, trust_env=False)
        self.username = username
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
        """Of the session: for who goes on otherwise."""
        return self._http.cookies

    def get(self, path: str) -> httpx.Response:
        return self._http.get(path)

    def post(self, path: str, **fields: str | list[str]) -> httpx.Response:
        """Submit a form; the answer is what a browser would show, after redirects."""
        token = {"csrfmiddlewaretoken": self._http.cookies["hadash_csrf"]}
        return self._http.post(path, data={**token, **fields}, headers={"Referer": str(self._http.base_url)})

    def call(self, method: str, path: str, values: dict[str, Any] | None = None) -> Any:
        """The API's answer to this session. :raises SandboxError: with what it says, if it is no success."""
        answer = self.answer(method, path, values)
        if not answer.is_success:
            raise SandboxError(f"The API refuses {method} {path} ({answer.status_code}): {answer.text[:600]}")
        return answer.json()

    def answer(self, method: str, path: str, values: dict[str, Any] | None = None) -> httpx.Response:
        """The API's answer to this session, whatever it says."""
        headers = {"X-CSRFToken": self._http.cookies["hadash_csrf"], "Referer": str(self._http.base_url)}
        return self._http.request(method, f"api/v1/{path}", json=values, headers=headers)

    def appid(self, name: str) -> str:
        """The number under which an AppID's page is found."""
        page = self._http.get("appids/", params={"q": name}).text
        for number, label in re.findall(r'href="/appids/(\d+)/"[^>]*>(.*?)</a>', page, re.DOTALL):
            if _TAGS.sub("", label).strip() == name:
                return str(number)
        raise SandboxError(f"The page of AppIDs does not list {name}.")

    def request(
        self, appid: str, instance: str | None, target: str, reason: str, kind: str = "planned"
    ) -> str:
        """Ask for a switch of a ``kind`` that has to be approved; its key.

        :raises RequestRefused: with what the page says.
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
        """Approve what the page shows."""
        return self.post(f"switches/{key}/approve/", plan_digest=self.state(key)["plan_digest"])

    def state(self, key: str) -> dict[str, Any]:
        answer = self.get(f"switches/{key}/state.json")
        answer.raise_for_status()
        found: dict[str, Any] = answer.json()
        return found

    def await_end(self, key: str, seconds: float) -> dict[str, Any]:
        """Watch until the switch neither waits nor runs."""
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
    """What a page says in its main part."""
    main = page.split("<main", 1)[-1]
    return re.sub(r"\s+", " ", _TAGS.sub(" ", main))[:600]

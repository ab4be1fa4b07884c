"""Starts the real provider of OpenID Connect, and walks through it as a browser does."""

from __future__ import annotations

import html
import json
import re
import sys
import urllib.request
from pathlib import Path
from typing import Any

import httpx
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from hadash_sandbox import ports
from hadash_sandbox.processes import Process

TESTS = Path(__file__).resolve().parents[1]

CLIENT_ID, CLIENT_SECRET = "hadash", "the-secret-of-hadash"


def private_key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


class Provider:
    """``hadash`` is hadash's own address; ``people`` are user names with passwords."""

    def __init__(self, folder: Path, hadash: str, people: dict[str, str]) -> None:
        self.folder = folder
        self.people = people
        self._said: dict[str, dict[str, Any]] = {}
        (folder / "key.pem").write_bytes(
            private_key().private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
        (folder / "client.json").write_text(
            json.dumps(
                {
                    "client_id": CLIENT_ID,
                    "client_secret": CLIENT_SECRET,
                    "redirect_uri": f"{hadash}/sign-in/oidc/return/",
                    "after_sign_out": f"{hadash}/sign-in/",
                    "people": people,
                }
            )
        )
        self.say_nothing()
        port = ports.allocate(["provider"], folder / "ports.json")["provider"]
        self.issuer = f"http://127.0.0.1:{port}/o"
        self._process = Process(
            "OpenID Connect provider",
            [sys.executable, "-m", "support.oidc_provider", folder / "client.json"],
            log_path=folder / "provider.log",
            env={
                "PYTHONPATH": f"{TESTS}:{TESTS.parent}",
                "PROVIDER_FOLDER": str(folder),
                "PROVIDER_PORT": str(port),
            },
            cwd=folder,
            ready=self._answers,
        )

    def start(self) -> None:
        self._process.start()
        self._process.wait_ready()

    def stop(self) -> None:
        self._process.stop()

    def say(self, username: str, **claims: Any) -> None:
        """From now on the provider says this of a person."""
        self._said[username] = claims
        self._write()

    def say_nothing(self) -> None:
        self._said.clear()
        self._write()

    def _write(self) -> None:
        (self.folder / "people.json").write_text(json.dumps(self._said))

    def _answers(self) -> bool:
        with urllib.request.urlopen(f"{self.issuer}/.well-known/openid-configuration", timeout=5) as answer:
            return bool(answer.status == 200)


class Browser:
    """Cookies, redirects and forms, at hadash and at the provider."""

    def __init__(self, hadash: str) -> None:
        self.hadash = hadash
        # No proxy: the servers are on this machine.
        self.http = httpx.Client(follow_redirects=True, trust_env=False, timeout=30)

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *error: object) -> None:
        self.http.close()

    def open(self, path: str) -> httpx.Response:
        return self.http.get(self.hadash + path)

    def press_button(self, path: str = "/sign-in/") -> httpx.Response:
        """The sign-in page's button; the answer is the provider's page, or hadash's for somebody who is known there."""
        page = self.open(path).text
        (target,) = re.findall(r'<a class="button" href="(/sign-in/oidc/[^"]*)"', page)
        return self.open(html.unescape(target))

    def sign_in(self, username: str, password: str) -> httpx.Response:
        """All the way; the answer is hadash's page."""
        page = self.press_button()
        return self.fill(page, username=username, password=password)

    def fill(self, page: httpx.Response, **fields: str) -> httpx.Response:
        """Send a page's only form with its CSRF token, to the page's own address."""
        (token,) = re.findall(r'name="csrfmiddlewaretoken" value="([^"]+)"', page.text)
        data = {"csrfmiddlewaretoken": token, **fields}
        return self.http.post(str(page.url), data=data, headers={"Referer": str(page.url)})

    def post(self, path: str, **fields: str) -> httpx.Response:
        """A form of hadash."""
        token = self.http.cookies.get("hadash_csrf", "", domain="localhost.local")
        data = {"csrfmiddlewaretoken": token or "", **fields}
        return self.http.post(self.hadash + path, data=data, headers={"Referer": self.hadash + path})

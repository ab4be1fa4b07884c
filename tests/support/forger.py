"""A provider that lies: what a real one cannot be made to do, beside the tests with a real one."""

from __future__ import annotations

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

from support.provider import CLIENT_ID, private_key


class Forger:
    """Answers like a provider; change ``claims``, ``userinfo``, ``signs_with``, ``algorithm`` or ``document``
    to have it lie.
    """

    def __init__(self) -> None:
        self.published: RSAPrivateKey = private_key()
        self.signs_with: Any = self.published
        self.algorithm = "RS256"
        forger = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._answer()

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["Content-Length"]))
                self._answer()

            def _answer(self) -> None:
                body = json.dumps(forger.answer(self.path)).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.issuer = f"http://127.0.0.1:{self._server.server_address[1]}"
        now = int(time.time())
        self.claims: dict[str, Any] = {
            "iss": self.issuer,
            "aud": CLIENT_ID,
            "sub": "1",
            "iat": now,
            "exp": now + 300,
            "preferred_username": "anna",
            "groups": ["kafka-ops"],
        }
        self.userinfo: Any = {"sub": "1", "email": "anna@example.org"}
        self.document: dict[str, Any] = {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "jwks_uri": f"{self.issuer}/keys",
            "userinfo_endpoint": f"{self.issuer}/userinfo",
        }

    def __enter__(self) -> Forger:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, path: str) -> Any:
        if path == "/token":
            token = jwt.encode(
                {name: value for name, value in self.claims.items() if value is not None},
                self.signs_with,
                self.algorithm,
                headers={"kid": "k1"},
            )
            return {"access_token": "a", "token_type": "Bearer", "id_token": token}
        if path == "/keys":
            key = jwt.algorithms.RSAAlgorithm.to_jwk(self.published.public_key(), as_dict=True)
            return {"keys": [{**key, "kid": "k1", "use": "sig", "alg": "RS256"}]}
        if path == "/userinfo":
            return self.userinfo
        return self.document

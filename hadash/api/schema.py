"""What drf-spectacular cannot see by itself: the token, and which docstrings are for the readers of the document."""

from __future__ import annotations

from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema


class TokenScheme(OpenApiAuthenticationExtension):
    target_class = "hadash.api.authentication.TokenAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, Any]:
        return {
            "type": "http",
            "scheme": "bearer",
            "description": "A token of your own, from the page “Your tokens”.",
        }


class Operations(AutoSchema):
    """An operation says what its handler says: the docstrings of the classes, also of those it inherits from,
    are for developers.
    """

    def get_description(self) -> str:
        handler = getattr(self.view, self.method.lower(), None)
        return (getattr(handler, "__doc__", None) or "").strip()

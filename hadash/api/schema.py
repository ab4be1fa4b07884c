"""Extensions of drf-spectacular: the token as a security scheme, and the descriptions of operations."""

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
    """Describes an operation by its handler's docstring only: those of the view classes are for developers."""

    def get_description(self) -> str:
        handler = getattr(self.view, self.method.lower(), None)
        return (getattr(handler, "__doc__", None) or "").strip()

"""The API."""

from __future__ import annotations

from hadash.settings.environment import number

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "hadash.api.authentication.TokenAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    "DEFAULT_PAGINATION_CLASS": "hadash.api.pagination.Pages",
    "DEFAULT_SCHEMA_CLASS": "hadash.api.schema.Operations",
    "EXCEPTION_HANDLER": "hadash.api.problems.handle",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "hadash",
    "DESCRIPTION": "Governs and performs active/standby switchover of Kafka clients. Errors are problem "
    "details (RFC 9457).",
    "VERSION": "1",
    "OAS_VERSION": "3.1.1",
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_PERMISSIONS": ["rest_framework.permissions.IsAuthenticated"],
    "SCHEMA_PATH_PREFIX": "/api/v1/",
    "COMPONENT_SPLIT_REQUEST": True,
    "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
}
#: Hours for which a write can be repeated with its idempotency key: a client may be down for a weekend.
API_IDEMPOTENCY_HOURS = number("HADASH_API_IDEMPOTENCY_HOURS", 72)

"""Signing in, and the OpenID Connect provider."""

from __future__ import annotations

import os
from datetime import timedelta

from hadash.settings.environment import mapping, number, secret

LOGIN_URL = "sign-in"
LOGIN_REDIRECT_URL = "overview"
LOGOUT_REDIRECT_URL = "sign-in"
#: The longest life of an API token in days, and the default: a forgotten token must not work for ever.
TOKEN_MAX_DAYS = int(number("HADASH_TOKEN_MAX_DAYS", 366))
TOKEN_DAYS = int(number("HADASH_TOKEN_DAYS", 90))
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
#: The limit comes first: while it locks, no password is checked.
AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",
    "django.contrib.auth.backends.ModelBackend",
    "hadash.accounts.oidc.ProviderBackend",
]

#: Failures for one user name from one address before it is locked there: enough for a person who tries all their
#: old passwords, and 480 guesses a day for an attacker.
AXES_FAILURE_LIMIT = int(number("HADASH_SIGN_IN_FAILURES", 5))
#: Failures from one address before it is locked for all user names. It is much higher because an office may share
#: an address; it stops an attacker who tries one password with many user names.
SIGN_IN_ADDRESS_FAILURES = int(number("HADASH_SIGN_IN_ADDRESS_FAILURES", 50))
#: Seconds from the last failure until the lock ends: short for a person, and too long for guessing passwords.
AXES_COOLOFF_TIME = timedelta(seconds=number("HADASH_SIGN_IN_LOCK_SECONDS", 900))
AXES_HANDLER = "hadash.accounts.limits.Limits"
#: A lock holds for one address, so that nobody can lock out a person at another one.
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_CLIENT_IP_CALLABLE = "hadash.accounts.addresses.limited_address"
AXES_LOCKOUT_CALLABLE = "hadash.dashboard.views.session.locked"
AXES_RESET_ON_SUCCESS = True
#: Attempts during a lock do not extend it and are not stored.
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False
#: The audit log records sign-ins.
AXES_DISABLE_ACCESS_LOG = True
AXES_SENSITIVE_PARAMETERS = ["username", "ip_address", "csrfmiddlewaretoken", "code", "state"]
AXES_VERBOSE = False

#: The issuer of the OpenID Connect provider; without it there are local accounts only. docs/accounts.md.
OIDC_ISSUER = os.environ.get("HADASH_OIDC_ISSUER", "").strip()
OIDC_RP_CLIENT_ID = os.environ.get("HADASH_OIDC_CLIENT_ID", "")
OIDC_RP_CLIENT_SECRET = secret("HADASH_OIDC_CLIENT_SECRET")
#: The scopes to request. Providers that send groups only on request want one more, mostly "groups".
OIDC_RP_SCOPES = os.environ.get("HADASH_OIDC_SCOPES", "openid profile email")
#: On the button: "Sign in with …".
OIDC_NAME = os.environ.get("HADASH_OIDC_NAME", "OpenID Connect")
#: The claims that hold the user name and the groups; a dot leads into a nested claim (realm_access.roles).
OIDC_USERNAME_CLAIM = os.environ.get("HADASH_OIDC_USERNAME_CLAIM", "preferred_username")
OIDC_GROUPS_CLAIM = os.environ.get("HADASH_OIDC_GROUPS_CLAIM", "groups")
#: Maps a group at the provider to a role here.
OIDC_ROLES = mapping("HADASH_OIDC_ROLES")
#: The role of people whose groups map to none: "viewer", or empty to refuse them.
OIDC_DEFAULT_ROLE = os.environ.get("HADASH_OIDC_DEFAULT_ROLE", "").strip()
#: Seconds to wait for the provider: a person waits for the page.
OIDC_TIMEOUT = number("HADASH_OIDC_SECONDS", 5)
#: Seconds for which the provider's metadata is cached, and its failure to answer, too: the sign-in page asks for it.
OIDC_LOOK_SECONDS = number("HADASH_OIDC_LOOK_SECONDS", 15)

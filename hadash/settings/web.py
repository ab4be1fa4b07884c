"""Django itself, its pages, and what these may load."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import urlsplit

import django_htmx
import plotly

from hadash import toplevel
from hadash.settings.accounts import OIDC_ISSUER
from hadash.settings.environment import flag, number, secret
from hadash.telemetry import logs

BASE_DIR = toplevel.ROOT
toplevel.make_importable()

#: Signs sessions and encrypts the credentials of clusters. It must be set when others can sign in or servers are
#: on other machines (hadash.E001).
INSECURE_SECRET_KEY = "insecure-sandbox-key"
SECRET_KEY = secret("HADASH_SECRET_KEY") or INSECURE_SECRET_KEY
#: Earlier keys, separated by commas, newest first: what they signed and encrypted stays valid (sessions, the
#: audit log's anchors, the clusters' credentials). New values are made with the key itself.
SECRET_KEY_FALLBACKS = [
    key.strip() for key in secret("HADASH_SECRET_KEY_FALLBACKS").split(",") if key.strip()
]
#: Whether a failed request shows its traceback. For development.
DEBUG = flag("HADASH_DEBUG", False)
#: The web server's names in its users' addresses, separated by commas: requests with any other Host are refused.
ALLOWED_HOSTS = os.environ.get("HADASH_ALLOWED_HOSTS", "127.0.0.1,localhost").split(",")
#: Names of a web server that only this machine reaches: the checks are stricter about any other.
LOOPBACK_HOSTS = {"127.0.0.1", "localhost", "[::1]", "testserver"}
#: Origins (https://…) whose forms are accepted besides the web server's own, separated by commas: for a proxy that
#: changes the host.
CSRF_TRUSTED_ORIGINS = [o for o in os.environ.get("HADASH_TRUSTED_ORIGINS", "").split(",") if o]
#: Cookies over TLS only. Off for the sandbox, which speaks plain HTTP on loopback.
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = flag("HADASH_SECURE_COOKIES", False)
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_NAME = "hadash_session"
CSRF_COOKIE_NAME = "hadash_csrf"
#: A working day: nobody approves with yesterday's open browser.
SESSION_COOKIE_AGE = int(number("HADASH_SESSION_SECONDS", 12 * 3600))
X_FRAME_OPTIONS = "DENY"
#: Seconds for which a browser that has reached hadash uses TLS only: a year if cookies are for TLS only.
SECURE_HSTS_SECONDS = int(number("HADASH_HSTS_SECONDS", 365 * 24 * 3600 if SESSION_COOKIE_SECURE else 0))

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "axes",
    "django_htmx",
    "tasks",
    "hadash.accounts",
    "hadash.audit",
    "hadash.inventory",
    "hadash.mirroring",
    "hadash.auditors",
    "hadash.switching",
    "hadash.pools",
    "hadash.governance",
    "hadash.pipeline",
    "hadash.full_audits",
    "hadash.outbox",
    "hadash.reports",
    "hadash.notices",
    "hadash.monitoring",
    "rest_framework",
    "drf_spectacular",
    "hadash.api",
    "hadash.dashboard",
]

MIDDLEWARE = [
    "hadash.monitoring.addresses.HealthAddresses",
    "hadash.monitoring.requests.WithRequestId",
    "django.middleware.security.SecurityMiddleware",
    "csp.middleware.CSPMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "hadash.monitoring.requests.WithPerson",
    "django.contrib.auth.middleware.LoginRequiredMiddleware",
    "hadash.first_sign_in.ChoosePasswordFirst",
    "django.contrib.messages.middleware.MessageMiddleware",
    "hadash.accounts.browser.BrowserMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "hadash.dashboard.not_allowed.NotAllowedPage",
    "axes.middleware.AxesMiddleware",
]

ROOT_URLCONF = "hadash.urls"
ASGI_APPLICATION = "hadash.asgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "OPTIONS": {
            "loaders": [
                (
                    "django.template.loaders.cached.Loader",
                    [
                        "hadash.dashboard.template_loader.Loader",
                        "django.template.loaders.app_directories.Loader",
                    ],
                )
            ],
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "hadash.dashboard.context.frame",
            ],
        },
    }
]

DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
#: The language of pages and mail for people who have not chosen one: ``en`` or ``zh-hans``.
LANGUAGE_CODE = os.environ.get("HADASH_LANGUAGE", "en").strip() or "en"
LANGUAGES = [("en", "English"), ("zh-hans", "简体中文")]
LOCALE_PATHS = [Path(__file__).resolve().parent.parent / "locale"]
USE_I18N = True
USE_TZ = True
#: The time zone of pages for people who have not chosen one.
TIME_ZONE = os.environ.get("HADASH_TIME_ZONE", "UTC")

STATIC_URL = "/static/"
#: For a web server of your own that serves the static files (collectstatic); hadash serves them without it.
STATIC_ROOT = os.environ.get("HADASH_STATIC_ROOT") or None
#: Scripts come from their Python packages: nothing is vendored, nothing comes from a CDN.
STATICFILES_DIRS = [
    BASE_DIR / "static",
    ("plotly", Path(plotly.__file__).parent / "package_data"),
    ("htmx", Path(django_htmx.__file__).parent / "static" / "django_htmx"),
]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}
WHITENOISE_USE_FINDERS = True

#: The format of log lines: "line" for people (the default), "json" for log collectors (docs/monitoring.md). And the
#: lowest level that is logged: DEBUG, INFO, WARNING or ERROR.
LOGGING = logs.configuration(
    os.environ.get("HADASH_LOG_FORMAT", logs.LINE).strip().lower(),
    os.environ.get("HADASH_LOG_LEVEL", "INFO").strip().upper(),
)

#: What pages may load: hadash's own files, and no inline script or style. (Charts are saved as pictures through
#: ``data:`` and ``blob:``.) Signing out leads on to the OpenID Connect provider, to sign out there as well.
_PROVIDER = urlsplit(OIDC_ISSUER)
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'none'"],
        "script-src": ["'self'"],
        "style-src": ["'self'"],
        "img-src": ["'self'", "data:", "blob:"],
        "connect-src": ["'self'"],
        "form-action": [
            "'self'",
            *([f"{_PROVIDER.scheme}://{_PROVIDER.netloc}"] if _PROVIDER.netloc else []),
        ],
        "frame-ancestors": ["'none'"],
        "base-uri": ["'none'"],
    }
}

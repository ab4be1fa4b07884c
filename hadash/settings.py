"""Settings. Everything that differs between places comes from the environment; the default is the embedded stack."""

from __future__ import annotations

import os
from pathlib import Path

import dj_database_url
import django_htmx
import plotly

BASE_DIR = Path(__file__).resolve().parent.parent


def flag(name: str, default: bool) -> bool:
    """A boolean variable: 1, true, yes, on."""
    return os.environ.get(name, str(default)).strip().lower() in ("1", "true", "yes", "on")


def number(name: str, default: float) -> float:
    """A numeric variable. :raises ValueError: naming the variable."""
    text = os.environ.get(name)
    if text is None:
        return default
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{name}={text!r} is not a number.") from None


# -- Django -------------------------------------------------------------------------------------------------------

#: Signs sessions and encrypts the credentials of clusters. Outside the sandbox it must be set (hadash.E001).
INSECURE_SECRET_KEY = "insecure-sandbox-key"
SECRET_KEY = os.environ.get("HADASH_SECRET_KEY", INSECURE_SECRET_KEY)
DEBUG = flag("HADASH_DEBUG", False)
ALLOWED_HOSTS = os.environ.get("HADASH_ALLOWED_HOSTS", "127.0.0.1,localhost").split(",")
CSRF_TRUSTED_ORIGINS = [o for o in os.environ.get("HADASH_TRUSTED_ORIGINS", "").split(",") if o]
#: Cookies over TLS only. Off for the sandbox, which speaks plain HTTP on loopback.
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = flag("HADASH_SECURE_COOKIES", False)
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_NAME = "hadash_session"
CSRF_COOKIE_NAME = "hadash_csrf"
#: A working day: nobody approves with yesterday's open browser.
SESSION_COOKIE_AGE = int(number("HADASH_SESSION_SECONDS", 12 * 3600))
X_FRAME_OPTIONS = "DENY"

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django_htmx",
    "hadash.accounts",
    "hadash.audit",
    "hadash.inventory",
    "hadash.mirroring",
    "hadash.switching",
    "rest_framework",
    "drf_spectacular",
    "hadash.api",
    "hadash.dashboard",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.auth.middleware.LoginRequiredMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "hadash.accounts.browser.BrowserMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
]

ROOT_URLCONF = "hadash.urls"
ASGI_APPLICATION = "hadash.asgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "hadash.dashboard.context.frame",
            ],
        },
    }
]

DATABASES = {
    "default": dj_database_url.config(
        env="DATABASE_URL",
        default="postgresql://hadash@127.0.0.1:5432/hadash",
        conn_max_age=int(number("HADASH_DATABASE_CONNECTION_SECONDS", 60)),
        conn_health_checks=True,
    )
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
#: Days that an API token lives at most, and when nobody says otherwise: a forgotten one must not work for ever.
TOKEN_MAX_DAYS = int(number("HADASH_TOKEN_MAX_DAYS", 366))
TOKEN_DAYS = int(number("HADASH_TOKEN_DAYS", 90))
LOGIN_URL = "sign-in"
LOGIN_REDIRECT_URL = "overview"
LOGOUT_REDIRECT_URL = "sign-in"

LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("zh-hans", "简体中文")]
LOCALE_PATHS = [BASE_DIR / "hadash" / "locale"]
USE_I18N = True
USE_TZ = True
TIME_ZONE = os.environ.get("HADASH_TIME_ZONE", "UTC")

STATIC_URL = "/static/"
STATIC_ROOT = Path(os.environ.get("HADASH_STATIC_ROOT", BASE_DIR / "var" / "static"))
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

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(name)s: %(message)s"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["console"], "level": os.environ.get("HADASH_LOG_LEVEL", "INFO")},
    "loggers": {
        "kazoo": {"level": "WARNING"},
        "httpx": {"level": "WARNING"},
        "django.server": {"level": "WARNING"},
    },
}

# -- the API ------------------------------------------------------------------------------------------------------

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "hadash.api.authentication.TokenAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    "DEFAULT_PAGINATION_CLASS": "hadash.api.pagination.Pages",
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "hadash.api.problems.handle",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "hadash",
    "DESCRIPTION": "Governs and performs active/standby switchover of Kafka clients. Errors are problem details (RFC 9457).",
    "VERSION": "1",
    "OAS_VERSION": "3.1.1",
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_PERMISSIONS": ["rest_framework.permissions.IsAuthenticated"],
    "SCHEMA_PATH_PREFIX": "/api/v1/",
    "COMPONENT_SPLIT_REQUEST": True,
    "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
}
#: Hours for which a write can be sent again with its idempotency key: a client that was away over a weekend's night.
API_IDEMPOTENCY_HOURS = number("HADASH_API_IDEMPOTENCY_HOURS", 72)

# -- servers ------------------------------------------------------------------------------------------------------

REDIS_URL = os.environ.get("REDIS_URL", "redis://127.0.0.1:6379/0")
ZOOKEEPER_HOSTS = os.environ.get("ZOOKEEPER_HOSTS", "127.0.0.1:2181")
CONNECT_URL = os.environ.get("CONNECT_URL", "http://127.0.0.1:8083")

CELERY_BROKER_URL = REDIS_URL
CELERY_TASK_IGNORE_RESULT = True
#: A task is acknowledged when it has ended: one whose worker was killed is not lost. Stages are idempotent.
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
#: A stage that waits longer than this is delivered again by Redis; the token that the first delivery used up stops it.
CELERY_BROKER_TRANSPORT_OPTIONS = {"visibility_timeout": 3600}
CELERY_TIMEZONE = "UTC"
CELERY_WORKER_HIJACK_ROOT_LOGGER = False

# -- switching ----------------------------------------------------------------------------------------------------

#: Seconds without a sign of life after which another worker takes over a running switch. The executor renews
#: it every second; the token fences the old one even if it is only slow.
SWITCH_LEASE_SECONDS = number("HADASH_SWITCH_LEASE_SECONDS", 5)
#: Seconds in which heartbeats are held, so that the members of a group are told together: the clients' default
#: heartbeat.interval.ms.
SWITCH_GATHER_SECONDS = number("HADASH_SWITCH_GATHER_SECONDS", 3)
#: Seconds for all members to commit and park their rejoin: the clients' default session.timeout.ms, after which the
#: cluster removes one that does not answer.
SWITCH_SETTLE_SECONDS = number("HADASH_SWITCH_SETTLE_SECONDS", 45)
#: Seconds for every Gateway to have put the block into effect: everything in flight answered. Beyond it the
#: switch returns to the start, long before a parked client gives up (30 s).
SWITCH_BLOCK_SECONDS = number("HADASH_SWITCH_BLOCK_SECONDS", 10)
#: Seconds for the mirror to drain, with writes blocked. The precheck measures the lag first.
SWITCH_DRAIN_SECONDS = number("HADASH_SWITCH_DRAIN_SECONDS", 10)
#: Seconds in which Connect has to take the order to pause a mirror, with writes blocked. It answers in some hundredths.
SWITCH_CONNECT_SECONDS = number("HADASH_SWITCH_CONNECT_SECONDS", 5)
#: Records of lag, over all partitions, with which a switch may start: what a mirror copies in a second.
SWITCH_MAX_LAG = int(number("HADASH_SWITCH_MAX_LAG", 5000))
#: Whether Topics with several replicas may be switched although somebody writes to them with acks=1 or acks=0. What the
#: leader alone has is acknowledged then, and neither a mirror nor a proof sees it before the followers have it: up to
#: the broker's replica.lag.time.max.ms (30 s) of it can be left behind.
SWITCH_ACCEPT_ACKS_1 = flag("HADASH_SWITCH_ACCEPT_ACKS_1", False)
#: Records at the end of each partition whose checksums must agree on both sides.
SWITCH_TAIL_RECORDS = int(number("HADASH_SWITCH_TAIL_RECORDS", 16))
#: Seconds that a switch waits for a Gateway after forward before it asks for a person.
SWITCH_FORWARD_SECONDS = number("HADASH_SWITCH_FORWARD_SECONDS", 60)
#: Seconds for the opposite mirror to run.
SWITCH_REVERSE_SECONDS = number("HADASH_SWITCH_REVERSE_SECONDS", 60)
#: Seconds for all clients to be seen on the target (the group's join delay is 3 s), and how long it must hold.
SWITCH_VERIFY_SECONDS = number("HADASH_SWITCH_VERIFY_SECONDS", 60)
SWITCH_VERIFY_HOLD_SECONDS = number("HADASH_SWITCH_VERIFY_HOLD_SECONDS", 2)
#: What clients wrote and read in the last seconds before a switch must go on after it: longer than the pauses of
#: steady traffic, and than the clients' batching.
SWITCH_ACTIVE_SECONDS = number("HADASH_SWITCH_ACTIVE_SECONDS", 5)
#: Seconds between two looks at something that is awaited while clients are blocked, and otherwise.
SWITCH_FAST_POLL_SECONDS = number("HADASH_SWITCH_FAST_POLL_SECONDS", 0.01)
SWITCH_POLL_SECONDS = number("HADASH_SWITCH_POLL_SECONDS", 0.1)
#: Seconds from the last approval (or the window's beginning) within which a switch has to begin, and its consumers to
#: settle: without a worker or ZooKeeper it would run much later, when nobody watches.
SWITCH_BEGIN_SECONDS = number("HADASH_SWITCH_BEGIN_SECONDS", 600)
#: Seconds that DiDi's engines, which acknowledge nothing, are given to act on what was written into their ZooKeepers. A broker
#: hears of it by a watch; it closes the connection of who is bound elsewhere 2 s after the next request (500 ms of throttle and
#: 1.5 s more, didi-engine.md 2). One second more is for slow brokers. It has to be less than HADASH_SWITCH_BLOCK_SECONDS.
#: (DiDi's own platform waits 10 s, and then trusts a sum of lags; hadash proves what the mirror holds.)
DIDI_APPLY_SECONDS = number("HADASH_DIDI_APPLY_SECONDS", 3)
#: Hours after which a request that nobody has decided on expires.
SWITCH_EXPIRY_HOURS = number("HADASH_SWITCH_EXPIRY_HOURS", 24)
#: Days for which observed access counts as use when it is decided who else uses a Topic.
ACCESS_WINDOW_DAYS = number("HADASH_ACCESS_WINDOW_DAYS", 7)
#: Seconds between two samples of mirror lag, and how long samples are kept.
LAG_SAMPLE_SECONDS = number("HADASH_LAG_SAMPLE_SECONDS", 2)
LAG_KEPT_HOURS = number("HADASH_LAG_KEPT_HOURS", 24)
#: Seconds between two collections of access from the Gateways, and between two looks at clusters.
ACCESS_COLLECT_SECONDS = number("HADASH_ACCESS_COLLECT_SECONDS", 3)
CLUSTER_LOOK_SECONDS = number("HADASH_CLUSTER_LOOK_SECONDS", 15)
#: Seconds to wait for a Gateway's HTTP side.
GATEWAY_REQUEST_SECONDS = number("HADASH_GATEWAY_REQUEST_SECONDS", 2)
#: Length of a Gateway's traffic samples, if its own setting of this name is changed.
GATEWAY_TRAFFIC_SECONDS = number("HADASH_GATEWAY_TRAFFIC_SECONDS", 0.5)

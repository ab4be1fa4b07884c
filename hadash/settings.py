"""Settings. Everything that differs between places comes from the environment; the default is the embedded stack."""

from __future__ import annotations

import ipaddress
import json
import os
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

import dj_database_url
import django_htmx
import plotly

from hadash import toplevel
from hadash.postgresql import ending_in_silence
from hadash.telemetry import logs

BASE_DIR = toplevel.ROOT
toplevel.make_importable()


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


def mapping(name: str) -> dict[str, str]:
    """A JSON object of texts. :raises ValueError: naming the variable."""
    text = os.environ.get(name, "").strip() or "{}"
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, dict) or not all(isinstance(value, str) for value in found.values()):
        raise ValueError(f"{name}={text!r} is not a JSON object of texts.")
    return found


def secret(name: str) -> str:
    """A secret: the variable ``name``, or the text of the file that ``<name>_FILE`` names.

    :raises ValueError: the file cannot be read.
    """
    path = os.environ.get(f"{name}_FILE", "").strip()
    if not path:
        return os.environ.get(name, "")
    try:
        return Path(path).read_text().strip()
    except OSError as error:
        raise ValueError(f"{name}_FILE={path!r} cannot be read: {error.strerror}.") from None


def networks(name: str) -> tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...]:
    """Networks with commas between them. :raises ValueError: naming the variable."""
    found = []
    for text in os.environ.get(name, "").split(","):
        if text.strip():
            try:
                found.append(ipaddress.ip_network(text.strip()))
            except ValueError as error:
                raise ValueError(f"{name}: {error}.") from None
    return tuple(found)


def numbers(name: str, default: tuple[float, ...]) -> tuple[float, ...]:
    """Numbers with commas between them. :raises ValueError: naming the variable."""
    text = os.environ.get(name, "").strip()
    if not text:
        return default
    try:
        return tuple(float(each) for each in text.split(","))
    except ValueError:
        raise ValueError(f"{name}={text!r} is not a list of numbers with commas between them.") from None


# -- Django ------------------------------------------------------------------------------------------------------

#: Signs sessions and encrypts the credentials of clusters. It must be set where others are let in, or servers
#: are elsewhere (hadash.E001).
INSECURE_SECRET_KEY = "insecure-sandbox-key"
SECRET_KEY = secret("HADASH_SECRET_KEY") or INSECURE_SECRET_KEY
#: Earlier keys, separated by commas, newest first: what they have signed and encrypted still holds (sessions,
#: the audit log's anchors, the clusters' credentials). New things are made with the key itself.
SECRET_KEY_FALLBACKS = [
    key.strip() for key in secret("HADASH_SECRET_KEY_FALLBACKS").split(",") if key.strip()
]
DEBUG = flag("HADASH_DEBUG", False)
ALLOWED_HOSTS = os.environ.get("HADASH_ALLOWED_HOSTS", "127.0.0.1,localhost").split(",")
#: Names of a web server that only this machine reaches: checks are stricter about any other.
LOOPBACK_HOSTS = {"127.0.0.1", "localhost", "[::1]", "testserver"}
CSRF_TRUSTED_ORIGINS = [o for o in os.environ.get("HADASH_TRUSTED_ORIGINS", "").split(",") if o]
#: Cookies over TLS only. Off for the sandbox, which speaks plain HTTP on loopback.
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = flag("HADASH_SECURE_COOKIES", False)
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_NAME = "hadash_session"
CSRF_COOKIE_NAME = "hadash_csrf"
#: A working day: nobody approves with yesterday's open browser.
SESSION_COOKIE_AGE = int(number("HADASH_SESSION_SECONDS", 12 * 3600))
X_FRAME_OPTIONS = "DENY"
#: Seconds for which browsers reach hadash over TLS only, once they have: a year, as soon as cookies are for TLS only.
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
    "hadash.switching",
    "hadash.governance",
    "hadash.pipeline",
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

DATABASES = {
    "default": dj_database_url.parse(
        secret("DATABASE_URL") or "postgresql://hadash@127.0.0.1:5432/hadash",
        conn_max_age=int(number("HADASH_DATABASE_CONNECTION_SECONDS", 60)),
        conn_health_checks=True,
    )
}
#: Seconds after which a connection to the database has ended whose other side is silent, for both sides. A
#: machine that loses its power says no good-bye: PostgreSQL would keep what its worker has locked for two
#: hours (Linux' own default), and no other worker would look after switches.
DATABASE_SILENT_SECONDS = number("HADASH_DATABASE_SILENT_SECONDS", 20)
DATABASES["default"]["OPTIONS"] = ending_in_silence(
    DATABASES["default"].get("OPTIONS", {}), DATABASE_SILENT_SECONDS
)
#: Connections to the database that a web process shares among its requests, and seconds for which a request
#: waits for one; 0: each thread keeps one of its own, as workers do. (A web process serves each request in a
#: thread of its own, which would open one each time; and of 200 people who open the same page at once each
#: would.) PostgreSQL takes a hundred in all where nobody says otherwise.
DATABASE_POOL = int(number("HADASH_DATABASE_POOL", 0))
DATABASE_POOL_SECONDS = number("HADASH_DATABASE_POOL_SECONDS", 20)
if DATABASE_POOL:
    DATABASES["default"]["CONN_MAX_AGE"] = 0
    DATABASES["default"].setdefault("OPTIONS", {})["pool"] = {
        "min_size": 2,
        "max_size": DATABASE_POOL,
        "timeout": DATABASE_POOL_SECONDS,
    }
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
#: Of pages and mail for those who have not chosen one: ``en`` or ``zh-hans``.
LANGUAGE_CODE = os.environ.get("HADASH_LANGUAGE", "en").strip() or "en"
LANGUAGES = [("en", "English"), ("zh-hans", "简体中文")]
LOCALE_PATHS = [Path(__file__).resolve().parent / "locale"]
USE_I18N = True
USE_TZ = True
TIME_ZONE = os.environ.get("HADASH_TIME_ZONE", "UTC")

STATIC_URL = "/static/"
#: For a web server of your own that serves them (collectstatic); hadash serves its files without.
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

#: "line" for people, "json" for whatever collects logs (docs/monitoring.md); what is logged at least: DEBUG,
#: INFO, WARNING or ERROR.
LOGGING = logs.configuration(
    os.environ.get("HADASH_LOG_FORMAT", logs.LINE).strip().lower(),
    os.environ.get("HADASH_LOG_LEVEL", "INFO").strip().upper(),
)

# -- monitoring --------------------------------------------------------------------------------------------------

#: Where workers and beat have /healthz, /readyz and /metrics: host:port, one for each process of a machine;
#: empty: nowhere. (The web server has them at its own address, each Gateway at its
#: HADASH_GATEWAY_ADMIN_PORT.)
HEALTH_ADDRESS = os.environ.get("HADASH_HEALTH_ADDRESS", "").strip()
#: Seconds that a health page waits for the servers that it asks about, and /metrics for those it reads from:
#: whoever asks gives up after a second or some (Kubernetes after one), and what has not answered then is not
#: fine.
HEALTH_SECONDS = number("HADASH_HEALTH_SECONDS", 0.7)
METRICS_SECONDS = number("HADASH_METRICS_SECONDS", 0.9)
#: Seconds for which a worker begins nothing although work waits and its hands are free (or beat hands over
#: nothing) until /healthz says that it is stuck. Three times what a restart of Redis takes.
HEALTH_STUCK_SECONDS = number("HADASH_HEALTH_STUCK_SECONDS", 120)
#: Who may read /metrics of the web server, and the whole of /readyz: whoever sends this ("Authorization:
#: Bearer …"), and whoever comes from one of these networks. Nobody where neither is set: behind a proxy that
#: hides who asks, everybody would come from this machine.
METRICS_TOKEN = secret("HADASH_METRICS_TOKEN")
METRICS_NETWORKS = networks("HADASH_METRICS_NETWORKS")

# -- the API -----------------------------------------------------------------------------------------------------

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
#: Hours for which a write can be sent again with its idempotency key: a client that was away over a weekend's night.
API_IDEMPOTENCY_HOURS = number("HADASH_API_IDEMPOTENCY_HOURS", 72)

# -- signing in --------------------------------------------------------------------------------------------------

LOGIN_URL = "sign-in"
LOGIN_REDIRECT_URL = "overview"
LOGOUT_REDIRECT_URL = "sign-in"
#: Days that an API token lives at most, and when nobody says otherwise: a forgotten one must not work for ever.
TOKEN_MAX_DAYS = int(number("HADASH_TOKEN_MAX_DAYS", 366))
TOKEN_DAYS = int(number("HADASH_TOKEN_DAYS", 90))
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
#: The limit first: while it holds, no password is looked at.
AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",
    "django.contrib.auth.backends.ModelBackend",
    "hadash.accounts.oidc.ProviderBackend",
]

#: Failures for one user name from one address before it is locked there: enough for somebody who tries the old
#: passwords one after the other, and 480 guesses a day for somebody else.
AXES_FAILURE_LIMIT = int(number("HADASH_SIGN_IN_FAILURES", 5))
#: Failures from one address before it is locked altogether. An office may share one, so it is much more; it is what
#: stops somebody who tries one password with many user names.
SIGN_IN_ADDRESS_FAILURES = int(number("HADASH_SIGN_IN_ADDRESS_FAILURES", 50))
#: Seconds from the last failure until the lock ends: a person gets a coffee, a machine gets nowhere.
AXES_COOLOFF_TIME = timedelta(seconds=number("HADASH_SIGN_IN_LOCK_SECONDS", 900))
AXES_HANDLER = "hadash.accounts.limits.Limits"
#: Nobody locks out a person at another address.
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_CLIENT_IP_CALLABLE = "hadash.accounts.addresses.limited_address"
AXES_LOCKOUT_CALLABLE = "hadash.dashboard.views.session.locked"
AXES_RESET_ON_SUCCESS = True
#: What is tried while the lock holds does not make it longer, and is not stored.
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False
#: The audit log has the sign-ins.
AXES_DISABLE_ACCESS_LOG = True
AXES_SENSITIVE_PARAMETERS = ["username", "ip_address", "csrfmiddlewaretoken", "code", "state"]
AXES_VERBOSE = False

#: The provider of OpenID Connect, as it names itself; without it there are local accounts only. docs/accounts.md.
OIDC_ISSUER = os.environ.get("HADASH_OIDC_ISSUER", "").strip()
OIDC_RP_CLIENT_ID = os.environ.get("HADASH_OIDC_CLIENT_ID", "")
OIDC_RP_CLIENT_SECRET = secret("HADASH_OIDC_CLIENT_SECRET")
#: What is asked for. Providers that tell groups only when asked to want one more, mostly "groups".
OIDC_RP_SCOPES = os.environ.get("HADASH_OIDC_SCOPES", "openid profile email")
#: On the button: "Sign in with …".
OIDC_NAME = os.environ.get("HADASH_OIDC_NAME", "OpenID Connect")
#: The claims that hold the user name and the groups; a dot leads into a claim that holds others (realm_access.roles).
OIDC_USERNAME_CLAIM = os.environ.get("HADASH_OIDC_USERNAME_CLAIM", "preferred_username")
OIDC_GROUPS_CLAIM = os.environ.get("HADASH_OIDC_GROUPS_CLAIM", "groups")
#: Group at the provider → role here.
OIDC_ROLES = mapping("HADASH_OIDC_ROLES")
#: The role of those whose groups map to none: "viewer", or empty to refuse them.
OIDC_DEFAULT_ROLE = os.environ.get("HADASH_OIDC_DEFAULT_ROLE", "").strip()
#: Seconds to wait for the provider: somebody sits before the page.
OIDC_TIMEOUT = number("HADASH_OIDC_SECONDS", 5)
#: Seconds for which what the provider says about itself holds, and that it does not answer: the sign-in page asks.
OIDC_LOOK_SECONDS = number("HADASH_OIDC_LOOK_SECONDS", 15)

#: What pages may load: hadash's own files, and no script or style that stands in a page. (Charts are saved as
#: pictures by way of ``data:`` and ``blob:``.) Who signs out is sent on to the provider of OpenID Connect, to
#: sign out there.
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

# -- servers -----------------------------------------------------------------------------------------------------

REDIS_URL = secret("REDIS_URL") or "redis://127.0.0.1:6379/0"
ZOOKEEPER_HOSTS = os.environ.get("ZOOKEEPER_HOSTS", "127.0.0.1:2181")
CONNECT_URL = os.environ.get("CONNECT_URL", "http://127.0.0.1:8083")

CELERY_BROKER_URL = REDIS_URL
CELERY_TASK_IGNORE_RESULT = True
#: A task is acknowledged when it has ended: one whose worker was killed is not lost. Stages are idempotent.
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
#: Celery's own default is processes of their own (prefork): each would keep connections to every cluster and
#: to ZooKeeper, and what it counts would be missing in the worker's metrics. Where this is set, Celery takes
#: ``--pool prefork`` for it, too.
CELERY_WORKER_POOL = "threads"
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
#: A stage that waits longer than this is delivered again by Redis; the token that the first delivery used up stops it.
CELERY_BROKER_TRANSPORT_OPTIONS = {"visibility_timeout": 3600}
CELERY_TIMEZONE = "UTC"
#: Jobs of the pipeline have a worker of their own: they would keep those waiting that carry out switches.
CELERY_TASK_ROUTES = {
    "pipeline.run": {"queue": "pipeline"},
    "outbox.send": {"queue": "outbox"},
    "outbox.post": {"queue": "outbox"},
    "outbox.trim": {"queue": "outbox"},
    "outbox.bounces": {"queue": "outbox"},
    "reports.look": {"queue": "outbox"},
    "notices.watch": {"queue": "outbox"},
    "notices.tell": {"queue": "outbox"},
}
CELERY_WORKER_HIJACK_ROOT_LOGGER = False

# -- switching ---------------------------------------------------------------------------------------------------

#: Seconds without a sign of life after which another worker takes over a running switch. The executor renews
#: it every second; the token fences the old one even if it is only slow.
SWITCH_LEASE_SECONDS = number("HADASH_SWITCH_LEASE_SECONDS", 5)
#: Seconds in which heartbeats are held, so that the members of a group are told together: the clients' default
#: heartbeat.interval.ms.
SWITCH_HOLD_HEARTBEATS_SECONDS = number("HADASH_SWITCH_HOLD_HEARTBEATS_SECONDS", 3)
#: Seconds for all members to commit and park their rejoin: the clients' default session.timeout.ms, after which the
#: cluster removes one that does not answer.
SWITCH_QUIESCE_SECONDS = number("HADASH_SWITCH_QUIESCE_SECONDS", 45)
#: Seconds for every Gateway to have put the block into effect: everything in flight answered. Beyond it the
#: switch returns to the start, long before a parked client gives up (30 s).
SWITCH_BLOCK_SECONDS = number("HADASH_SWITCH_BLOCK_SECONDS", 10)
#: Seconds for the mirror to drain, with writes blocked. The precheck measures the lag first.
SWITCH_DRAIN_SECONDS = number("HADASH_SWITCH_DRAIN_SECONDS", 10)
#: Seconds for which clients may wait in all, from the block on until forward begins; beyond it the switch
#: returns, also when no single stage has taken too long. Java's request.timeout.ms is 30 s, the shortest time
#: after which a usual client gives up a request that is not answered; what is left of it is for the way back.
SWITCH_BLOCKED_SECONDS = number("HADASH_SWITCH_BLOCKED_SECONDS", 25)
#: Seconds in which Connect has to take the order to pause a mirror, with writes blocked. It answers in some hundredths.
SWITCH_CONNECT_SECONDS = number("HADASH_SWITCH_CONNECT_SECONDS", 5)
#: Seconds for the checks of a preview or a request, for which a person waits before a page; each question has
#: its server's own limit besides. They need a second, longer with thousands of Topics, and
#: HADASH_MIRROR_CATCH_UP_SECONDS more when a mirror has just been turned round.
SWITCH_CHECK_SECONDS = number("HADASH_SWITCH_CHECK_SECONDS", 30)
#: Records of lag, over all partitions, with which a switch may start: what a mirror copies in a second.
SWITCH_MAX_LAG = int(number("HADASH_SWITCH_MAX_LAG", 5000))
#: Whether Topics with several replicas may be switched although somebody writes to them with acks=1 or acks=0. What the
#: leader alone has is acknowledged then, and neither a mirror nor a proof sees it before the followers have it: up to
#: the broker's replica.lag.time.max.ms (30 s) of it can be left behind.
SWITCH_ACCEPT_ACKS_1 = flag("HADASH_SWITCH_ACCEPT_ACKS_1", False)
#: Whether clients may be switched although the target's quotas let them do less than the source's, or
#: although hadash cannot know what they are (brokers before 2.6, no right to read them): a client that had 50
#: MB/s and finds 1 MB/s stands still as far as its users can tell. For a standby that is meant to be smaller,
#: and for fleets that know to have none.
SWITCH_ACCEPT_QUOTAS = flag("HADASH_SWITCH_ACCEPT_QUOTAS", False)
#: Addresses and networks from which brokers see those who come through Gateways: the Gateways' own, or the
#: clients' with the PROXY protocol. Rules (ACLs) for one of these hosts mean what they say; on any other's
#: nobody's rights may depend.
SWITCH_ACL_HOSTS = tuple(
    host.strip() for host in os.environ.get("HADASH_SWITCH_ACL_HOSTS", "").split(",") if host.strip()
)
#: Assignors of this fleet's own whose members give up their partitions before they join their group again,
#: separated by commas; Kafka's own need not be named. A group with an assignor that hadash does not know is
#: not moved: its members might read on meanwhile.
SWITCH_EAGER_ASSIGNORS = tuple(
    name.strip() for name in os.environ.get("HADASH_SWITCH_EAGER_ASSIGNORS", "").split(",") if name.strip()
)
#: Libraries, as they name themselves (KIP-511), whose consumers go on from their own positions when they
#: rejoin their group, separated by commas: where offsets differ they are not moved. Those that hadash knows
#: (``hadash/switching/stages/reading_on.py``) need not be named.
SWITCH_READING_ON = tuple(
    name.strip() for name in os.environ.get("HADASH_SWITCH_READING_ON", "").split(",") if name.strip()
)
#: Records at the end of each partition whose checksums must agree on both sides.
SWITCH_TAIL_RECORDS = int(number("HADASH_SWITCH_TAIL_RECORDS", 16))
#: Seconds that a switch waits for a Gateway after forward before it asks for a person.
SWITCH_FORWARD_SECONDS = number("HADASH_SWITCH_FORWARD_SECONDS", 60)
#: Seconds for the opposite mirror to run.
SWITCH_REVERSE_SECONDS = number("HADASH_SWITCH_REVERSE_SECONDS", 60)
#: Seconds for all clients to be seen on the target (the group's join delay is 3 s), and how long it must hold.
SWITCH_VERIFY_SECONDS = number("HADASH_SWITCH_VERIFY_SECONDS", 60)
#: Who used what moves within so many seconds before a lost source was seen last is expected on the target
#: after a forced switch: longer than the pauses of a busy client, shorter than the time in which applications
#: are stopped for good.
SWITCH_USED_LATELY_SECONDS = number("HADASH_SWITCH_USED_LATELY_SECONDS", 120)
#: Seconds between two looks for clients that wait for a switch that PostgreSQL does not run: it reads all bindings.
STRAY_LOOK_SECONDS = number("HADASH_STRAY_LOOK_SECONDS", 60)

#: Seconds between two tries to ask a lost source for its tail.
TAIL_LOOK_SECONDS = number("HADASH_TAIL_LOOK_SECONDS", 10)
#: Seconds for which a lost source that answers may not know Topics that it had, before they count as lost
#: with it: a cluster that starts says for a moment that its Topics do not exist.
TAIL_UNKNOWN_SECONDS = number("HADASH_TAIL_UNKNOWN_SECONDS", 300)
#: Seconds after the decision in which the lost side is tried to be rebuilt while a server does not answer.
#: Later a person decides again: what is left may be needed otherwise by then.
TAIL_REBUILD_SECONDS = number("HADASH_TAIL_REBUILD_SECONDS", 900)
SWITCH_VERIFY_HOLD_SECONDS = number("HADASH_SWITCH_VERIFY_HOLD_SECONDS", 2)
#: What clients wrote and read in the last seconds before a switch must go on after it: longer than the pauses of
#: steady traffic, and than the clients' batching.
SWITCH_ACTIVE_SECONDS = number("HADASH_SWITCH_ACTIVE_SECONDS", 5)
#: Seconds between two looks at something that is awaited while clients are blocked, and otherwise.
SWITCH_FAST_POLL_SECONDS = number("HADASH_SWITCH_FAST_POLL_SECONDS", 0.01)
SWITCH_POLL_SECONDS = number("HADASH_SWITCH_POLL_SECONDS", 0.1)
#: Seconds from the last approval (or the window's beginning) within which a switch has to begin, and its consumers to
#: quiesce: without a worker or ZooKeeper it would run much later, when nobody watches.
SWITCH_BEGIN_SECONDS = number("HADASH_SWITCH_BEGIN_SECONDS", 600)
#: Seconds for which a switch waits for a person's go when all its checks hold: it holds its radius meanwhile.
SWITCH_GO_SECONDS = number("HADASH_SWITCH_GO_SECONDS", 1800)
#: Seconds that DiDi's engines, which acknowledge nothing, are given to act on what was written into their
#: ZooKeepers. A broker hears of it by a watch; it closes the connection of who is bound elsewhere 2 s after
#: the next request (500 ms of throttle and 1.5 s more, docs/didi-engine.md 2). One second more is for slow
#: brokers. It has to be less than HADASH_SWITCH_BLOCK_SECONDS. (DiDi's own platform waits 10 s, and then
#: trusts a sum of lags; hadash proves what the mirror holds.)
DIDI_APPLY_SECONDS = number("HADASH_DIDI_APPLY_SECONDS", 3)
#: Seconds for which a change of bindings by hand waits for the engines to put it into effect, before it says
#: who is late. Gateways need milliseconds, DiDi's engines HADASH_DIDI_APPLY_SECONDS. It stays applied: nobody
#: has moved.
BINDING_APPLY_SECONDS = number("HADASH_BINDING_APPLY_SECONDS", 10)
#: Hours after which a request that nobody has decided on expires.
SWITCH_EXPIRY_HOURS = number("HADASH_SWITCH_EXPIRY_HOURS", 24)
#: Days for which the journal and the placement of an ended switch stay in ZooKeeper: a PostgreSQL that comes back
#: from a backup learns there how far its switches have come, and such a backup is a week old at most.
SWITCH_JOURNAL_DAYS = number("HADASH_SWITCH_JOURNAL_DAYS", 7)
#: Days from the success of a migration until the old Topics are removed, when the request says nothing else:
#: two weekly jobs have run on the new cluster by then. And what a request, or somebody who puts it off, may
#: say: never at once (whoever was forgotten shows within a day), and never beyond a quarter (old Topics that
#: nobody decides on are what migrations leave behind).
RETIREMENT_DAYS = int(number("HADASH_RETIREMENT_DAYS", 14))
RETIREMENT_MIN_DAYS = int(number("HADASH_RETIREMENT_MIN_DAYS", 1))
RETIREMENT_MAX_DAYS = int(number("HADASH_RETIREMENT_MAX_DAYS", 90))
#: Drafts of requests that one person keeps: more than anybody finds again, and few enough that nobody fills
#: the table with them.
DRAFTS_PER_USER = int(number("HADASH_DRAFTS_PER_USER", 50))
#: Characters of one draft: a reason and a thousand Topics.
DRAFT_MAX_CHARACTERS = int(number("HADASH_DRAFT_MAX_CHARACTERS", 300_000))
#: Seconds without a sign of life after which another worker goes on with a removal. It is renewed before each
#: step, and none takes longer: Connect may rebalance for 30 s and stop a mirror for another 30.
RETIREMENT_LEASE_SECONDS = number("HADASH_RETIREMENT_LEASE_SECONDS", 120)
#: Seconds until a removal is tried again for which a server did not answer. Nobody waits for it.
RETIREMENT_RETRY_SECONDS = number("HADASH_RETIREMENT_RETRY_SECONDS", 900)
#: Seconds for deleted Topics to be gone from the cluster's metadata: its controller deletes large ones in the
#: background.
RETIREMENT_GONE_SECONDS = number("HADASH_RETIREMENT_GONE_SECONDS", 30)
#: Seconds between the two looks that both have to miss a Topic before it counts as gone: a broker that has
#: just been started says for a moment, well below a second, that its Topics do not exist.
RETIREMENT_MISSING_SECONDS = number("HADASH_RETIREMENT_MISSING_SECONDS", 3)
#: Seconds between two looks at whose day has come.
RETIREMENT_LOOK_SECONDS = number("HADASH_RETIREMENT_LOOK_SECONDS", 15)
#: Radii of one batch, at most: people look through what they approve, and each radius is planned before and
#: again when its turn comes. Ten times as many would still be planned in seconds.
BATCH_MAX_ITEMS = int(number("HADASH_BATCH_MAX_ITEMS", 1000))
#: Switches of a batch that run at once: when nobody says otherwise, and at most. Each keeps a thread of the
#: workers busy for its ten seconds, and a worker of the demo has eight; whatever else is switched meanwhile
#: needs some, too.
BATCH_PARALLELISM = int(number("HADASH_BATCH_PARALLELISM", 4))
BATCH_MAX_PARALLELISM = int(number("HADASH_BATCH_MAX_PARALLELISM", 16))
#: Radii of a wave when nobody says otherwise: about a minute of switches, after which a look is worth while.
BATCH_WAVE_SIZE = int(number("HADASH_BATCH_WAVE_SIZE", 10))
#: Seconds for which a radius is tried again whose turn has come while ZooKeeper or a cluster does not answer,
#: or while somebody's change of its bindings is being written. An election takes some seconds and a restart
#: up to a minute; after two, people have to know.
BATCH_PATIENCE_SECONDS = number("HADASH_BATCH_PATIENCE_SECONDS", 120)
#: Seconds between two looks at running batches. The end of a switch moves its batch on at once; this is for
#: what was lost with a worker.
BATCH_ADVANCE_SECONDS = number("HADASH_BATCH_ADVANCE_SECONDS", 2)
#: Days for which observed access counts as use when it is decided who else uses a Topic.
ACCESS_WINDOW_DAYS = number("HADASH_ACCESS_WINDOW_DAYS", 7)
#: Seconds between two samples of mirror lag, and how long samples are kept.
LAG_SAMPLE_SECONDS = number("HADASH_LAG_SAMPLE_SECONDS", 2)
LAG_KEPT_HOURS = number("HADASH_LAG_KEPT_HOURS", 24)
#: Seconds in which the Topics that a mirror has made have leaders on every broker: a cluster that has just
#: started is slow.
MIRROR_TOPICS_SECONDS = number("HADASH_MIRROR_TOPICS_SECONDS", 60)
#: Seconds in which a Topic that is deleted has to be gone: brokers delete in the background.
MIRROR_DELETE_SECONDS = number("HADASH_MIRROR_DELETE_SECONDS", 30)
#: Seconds between two readings of the settings of a mirror's Topics (limits of size, timestamps) on both clusters.
#: They change when somebody changes them; a switch reads them in its precheck.
MIRROR_SETTINGS_SECONDS = number("HADASH_MIRROR_SETTINGS_SECONDS", 30)
#: Seconds between two comparisons of a mirror's records with those of its source, outside of switches. Each reads
#: the last records of every partition, and the next ones of a walk through all that both sides hold: so many records
#: of a partition, and about so many bytes of a cluster, which one second of a fast network carries.
MIRROR_COMPARE_SECONDS = number("HADASH_MIRROR_COMPARE_SECONDS", 60)
MIRROR_COMPARE_RECORDS = int(number("HADASH_MIRROR_COMPARE_RECORDS", 200))
MIRROR_COMPARE_BYTES = int(number("HADASH_MIRROR_COMPARE_BYTES", 64 * 1024 * 1024))
#: Seconds of one round of looks (every HADASH_LAG_SAMPLE_SECONDS) after which the comparisons that are due wait for
#: the next: a pair with a thousand mirrors is compared less often, and its lag is measured all the same.
MIRROR_COMPARE_ROUND_SECONDS = number("HADASH_MIRROR_COMPARE_ROUND_SECONDS", 1)
#: How many times larger than its Topic's max.message.bytes a record may be before it is compressed: that limit
#: counts what a producer has compressed, and a mirror's producer sends it uncompressed. JSON, Avro and log lines
#: shrink to a fourth or an eighth. What is larger stops the mirror, which is seen and said, and loses nothing.
MIRROR_UNCOMPRESSED_FACTOR = number("HADASH_MIRROR_UNCOMPRESSED_FACTOR", 8)
#: Seconds in which a mirror has to copy what its source held when the precheck of a switch began; what it lacks
#: after that is no lag that passes. As long as a drain may take, but here nobody is blocked.
MIRROR_CATCH_UP_SECONDS = number("HADASH_MIRROR_CATCH_UP_SECONDS", 10)
#: Seconds between two notes of where consumer groups stand. After a forced switch, whose source cannot be
#: asked any more, consumers read again what they read since the last note.
POSITION_NOTE_SECONDS = number("HADASH_POSITION_NOTE_SECONDS", 5)
#: Groups of which one part of a note is read and kept: a cluster before 3.0 needs some milliseconds for each of them.
POSITION_GROUPS_AT_ONCE = int(number("HADASH_POSITION_GROUPS_AT_ONCE", 500))
#: Seconds for which groups that could not be read come after all others: each try may take HADASH_KAFKA_REQUEST_SECONDS.
POSITION_AGAIN_SECONDS = number("HADASH_POSITION_AGAIN_SECONDS", 60)
#: Seconds between two collections of access from the Gateways, and between two looks at clusters.
ACCESS_COLLECT_SECONDS = number("HADASH_ACCESS_COLLECT_SECONDS", 3)
CLUSTER_LOOK_SECONDS = number("HADASH_CLUSTER_LOOK_SECONDS", 15)
#: Seconds between two samples of each Gateway for the lines on its page, and how long these and the clusters'
#: samples are kept: a day of one Gateway or cluster is 5,760 rows. How a cluster was at each snapshot (its
#: controller, its partitions) is kept longer: it is a row a snapshot.
GATEWAY_SAMPLE_SECONDS = number("HADASH_GATEWAY_SAMPLE_SECONDS", 15)
SAMPLES_KEPT_HOURS = number("HADASH_SAMPLES_KEPT_HOURS", 24)
CLUSTER_STATES_KEPT_DAYS = number("HADASH_CLUSTER_STATES_KEPT_DAYS", 35)
#: Seconds between two times that a worker says that it is there, and after which one that says nothing more
#: counts as gone: three of these may be lost.
WORKER_PRESENCE_SECONDS = number("HADASH_WORKER_PRESENCE_SECONDS", 5)
WORKER_SILENT_SECONDS = number("HADASH_WORKER_SILENT_SECONDS", 20)
#: Days for which the figures of each day are kept that the overview draws: a trend has thirty.
DAILY_FIGURES_KEPT_DAYS = number("HADASH_DAILY_FIGURES_KEPT_DAYS", 35)
#: Seconds to wait for a Gateway's HTTP side.
GATEWAY_REQUEST_SECONDS = number("HADASH_GATEWAY_REQUEST_SECONDS", 2)
#: Hosts that are asked for what Gateways know: networks, addresses, host names, and all names below one
#: (".example.com"). The addresses themselves stand in ZooKeeper. This machine and private networks; name your
#: Gateways' own and nothing else where you can.
GATEWAY_ADMIN_HOSTS = [
    text.strip()
    for text in os.environ.get(
        "HADASH_GATEWAY_ADMIN_HOSTS", "127.0.0.0/8,::1,10.0.0.0/8,172.16.0.0/12,192.168.0.0/16,fc00::/7"
    ).split(",")
    if text.strip()
]
#: The longest answer of a Gateway: 20,000 connections (its own limit) take some 10 MB. And seconds for all of it to
#: arrive.
GATEWAY_ANSWER_BYTES = int(number("HADASH_GATEWAY_ANSWER_BYTES", 64 * 1024 * 1024))
GATEWAY_ANSWER_SECONDS = number("HADASH_GATEWAY_ANSWER_SECONDS", 10)
#: Length of a Gateway's traffic samples, if its own setting of this name is changed.
GATEWAY_TRAFFIC_SECONDS = number("HADASH_GATEWAY_TRAFFIC_SECONDS", 0.5)

# -- the pipeline ------------------------------------------------------------------------------------------------

#: The lake: a folder, s3a://… or hdfs://…; that of the Gateway where nothing else is said. Without one there
#: are no jobs. Where signed digests of the audit log are kept (a folder, s3a://… or hdfs://…), out of reach
#: of whoever writes to the database; and seconds from one to the next: what is changed sooner than the next
#: one leaves no trace there. Empty: none are.
AUDIT_ANCHORS = os.environ.get("HADASH_AUDIT_ANCHORS", "").strip()
AUDIT_ANCHOR_SECONDS = number("HADASH_AUDIT_ANCHOR_SECONDS", 900)

LAKE = os.environ.get("HADASH_LAKE", os.environ.get("HADASH_GATEWAY_LAKE", "")).strip()
#: A Kafka Topic on which access reports come, for those that no Gateway of this installation sees; without
#: one there is no job that reads it. And the file that says how its cluster is reached, as Kafka's own tools
#: read it (bootstrap.servers=…): for the workers.
LAKE_TOPIC = os.environ.get("HADASH_LAKE_TOPIC", "").strip()
LAKE_TOPIC_PROPERTIES = os.environ.get("HADASH_LAKE_TOPIC_PROPERTIES", "").strip()
#: Seconds between two looks at which job is due: schedules are to the minute.
PIPELINE_LOOK_SECONDS = number("HADASH_PIPELINE_LOOK_SECONDS", 5)
#: Seconds after which a worker is told again of a run that nobody has begun: what it was told may be lost with Redis.
PIPELINE_HAND_AGAIN_SECONDS = number("HADASH_PIPELINE_HAND_AGAIN_SECONDS", 60)
#: Seconds for which a run may wait for a worker before that is an alarm: the longest of the others takes minutes.
PIPELINE_WAIT_SECONDS = number("HADASH_PIPELINE_WAIT_SECONDS", 1800)
#: How often a run that has failed is tried again, and after how many seconds: a database or an object store
#: that is started again is back by then.
PIPELINE_RETRIES = int(number("HADASH_PIPELINE_RETRIES", 2))
PIPELINE_RETRY_SECONDS = number("HADASH_PIPELINE_RETRY_SECONDS", 60)
#: Seconds after which a run is ended: the next one of a daily schedule would have to wait for it.
PIPELINE_JOB_SECONDS = number("HADASH_PIPELINE_JOB_SECONDS", 6 * 3600)
#: How much the processes of jobs step back for others on their machine (0: not at all, 19: as far as
#: possible). Nobody waits for a job, and people wait for a switch.
PIPELINE_NICE = int(number("HADASH_PIPELINE_NICE", 10))
#: Seconds for which a Spark application waits for its next job before it ends: jobs that are due together,
#: and one that somebody wants to see again, need not wait for Spark to start. It keeps its memory meanwhile
#: (a gigabyte). 0: each job has one of its own.
PIPELINE_IDLE_SECONDS = number("HADASH_PIPELINE_IDLE_SECONDS", 300)
#: Published runs of each job that stay, and days for which the last one of each day stays besides: what has
#: changed since Monday two weeks ago can be asked.
PIPELINE_KEEP = int(number("HADASH_PIPELINE_KEEP", 5))
PIPELINE_KEEP_DAYS = int(number("HADASH_PIPELINE_KEEP_DAYS", 15))
#: Days of access reports and of snapshots that stay in the lake. (What was made of the reports stays: facts
#: look back 63 days.)
LAKE_KEPT_DAYS = int(number("HADASH_LAKE_KEPT_DAYS", 90))
SNAPSHOTS_KEPT_DAYS = int(number("HADASH_SNAPSHOTS_KEPT_DAYS", 30))
#: Seconds by which a mirror may be late where the rules of its pair say nothing: what a busy mirror needs for
#: its batches, ten times.
RPO_SECONDS = number("HADASH_RPO_SECONDS", 30)

# -- mail --------------------------------------------------------------------------------------------------------

#: The server that takes mail; empty: none is sent, and what is queued waits. Its port, and how the connection
#: is encrypted: "starttls" (587), "tls" (465) or "none" (25), which is for a relay on this machine only
#: (hadash.E015).
SMTP_HOST = os.environ.get("HADASH_SMTP_HOST", "").strip()
SMTP_SECURITY = os.environ.get("HADASH_SMTP_SECURITY", "starttls").strip().lower()
SMTP_PORT = int(number("HADASH_SMTP_PORT", {"starttls": 587, "tls": 465}.get(SMTP_SECURITY, 25)))
SMTP_USERNAME = os.environ.get("HADASH_SMTP_USERNAME", "")
SMTP_PASSWORD = secret("HADASH_SMTP_PASSWORD")
#: Certificates of authorities for the server's own (PEM); empty: the system's.
SMTP_CA = os.environ.get("HADASH_SMTP_CA", "").strip()
#: Seconds for each answer of the server: RFC 5321 allows minutes, and a sender that waits keeps everybody's
#: mail waiting.
SMTP_TIMEOUT_SECONDS = number("HADASH_SMTP_TIMEOUT_SECONDS", 30)
#: Seconds for its answer to the text alone: it looks through it for viruses before it says that it has it,
#: and who gives up earlier does not know whether it was taken (RFC 5321, 4.5.3.2.6, asks for ten minutes).
SMTP_TAKING_SECONDS = number("HADASH_SMTP_TAKING_SECONDS", 600)
#: Messages in one connection: many servers end it after a hundred or some hundred.
SMTP_MESSAGES_EACH = int(number("HADASH_SMTP_MESSAGES_EACH", 100))
#: Who mail comes from, as readers see it.
MAIL_FROM = os.environ.get("HADASH_MAIL_FROM", "hadash <hadash@localhost>").strip()
#: Where what cannot be delivered is sent back to; empty: to whom mail comes from. And the Maildir into which
#: the mail server puts it, for workers of the queue outbox: what comes back is noted on its mail. Empty:
#: nobody looks. Seconds between two looks: mail takes longer.
MAIL_RETURN = os.environ.get("HADASH_MAIL_RETURN", "").strip()
BOUNCES = os.environ.get("HADASH_BOUNCES", "").strip()
BOUNCE_LOOK_SECONDS = number("HADASH_BOUNCE_LOOK_SECONDS", 60)
#: hadash's address in a browser, for links in mail. Not taken from a request: who asks could set it.
PUBLIC_URL = (
    os.environ.get("HADASH_PUBLIC_URL", os.environ.get("HADASH_URL", "http://127.0.0.1:8000")).rstrip("/")
    + "/"
)
#: Seconds between the tries of a mail that the server defers: greylisting lets a sender in after some
#: minutes, a full mailbox is emptied by the next day. After that it has failed.
MAIL_RETRY_SECONDS = numbers("HADASH_MAIL_RETRY_SECONDS", (60, 300, 900, 3600, 3 * 3600, 6 * 3600, 12 * 3600))
#: The largest share by which a delay is longer: what was deferred together does not come back together.
OUTBOX_RETRY_JITTER = number("HADASH_OUTBOX_RETRY_JITTER", 0.1)
#: Seconds between two looks at what is due.
OUTBOX_LOOK_SECONDS = number("HADASH_OUTBOX_LOOK_SECONDS", 5)
#: Messages that a sender claims at once, and seconds for which they are its own: some answers of a slow
#: server. After that what was not yet handed over is free again, and of what was handed over it is not known
#: whether it has arrived.
OUTBOX_CLAIMED_AT_ONCE = int(number("HADASH_OUTBOX_CLAIMED_AT_ONCE", 50))
OUTBOX_CLAIM_SECONDS = number("HADASH_OUTBOX_CLAIM_SECONDS", 300)
#: Seconds at most between two tries while there is no mail server at all: the longer it is away, the more
#: rarely it is asked.
OUTBOX_AWAY_SECONDS = number("HADASH_OUTBOX_AWAY_SECONDS", 600)
#: Entries of a message's history that are kept: the last ones.
OUTBOX_LOG_ENTRIES = int(number("HADASH_OUTBOX_LOG_ENTRIES", 20))
#: Messages in a row whose arrival is not known, after which a sender leaves the others for later: the server
#: takes none properly.
OUTBOX_UNTOLD_IN_A_ROW = int(number("HADASH_OUTBOX_UNTOLD_IN_A_ROW", 2))
#: Seconds before its time is over at which a message is tried for the last time, where its plan would try it later.
OUTBOX_LAST_TRY_SECONDS = number("HADASH_OUTBOX_LAST_TRY_SECONDS", 900)
#: Days for which it is kept what was sent to whom.
OUTBOX_KEPT_DAYS = number("HADASH_OUTBOX_KEPT_DAYS", 90)

# -- notices -----------------------------------------------------------------------------------------------------

#: Networks of our own that webhooks may be posted to, such as 10.0.0.0/8; to all others of our own nothing is
#: posted, so that whoever sets up a channel cannot make a worker knock where only workers reach.
WEBHOOK_NETWORKS = networks("HADASH_WEBHOOK_NETWORKS")
#: Whether an address may be http://: everybody on the way reads it. For the sandbox.
WEBHOOK_PLAIN = flag("HADASH_WEBHOOK_PLAIN", False)
#: Seconds for a post, from the connection to the end of its answer: the standard asks receivers to answer
#: within 15 to 30.
WEBHOOK_TIMEOUT_SECONDS = number("HADASH_WEBHOOK_TIMEOUT_SECONDS", 20)
#: Seconds between the tries of a post (Standard Webhooks' own plan, without its last ten hours: nobody needs
#: a notice of yesterday).
WEBHOOK_RETRY_SECONDS = numbers("HADASH_WEBHOOK_RETRY_SECONDS", (5, 300, 1800, 2 * 3600, 5 * 3600, 10 * 3600))
#: Seconds between two messages to one person or channel: what happens meanwhile comes as one.
NOTICE_GAP_SECONDS = number("HADASH_NOTICE_GAP_SECONDS", 60)
#: Seconds that a mirror or a Gateway has to be as it should not be before anybody is told: a restart takes less.
NOTICE_HOLD_SECONDS = number("HADASH_NOTICE_HOLD_SECONDS", 60)
#: Minutes before a request expires at which those who can approve it are reminded.
NOTICE_EXPIRY_MINUTES = number("HADASH_NOTICE_EXPIRY_MINUTES", 60)
#: Hours after which a notice is not sent any more.
NOTICE_EXPIRY_HOURS = number("HADASH_NOTICE_EXPIRY_HOURS", 24)
#: Seconds between two looks at mirrors, Gateways and jobs, and between two rounds of telling.
NOTICE_WATCH_SECONDS = number("HADASH_NOTICE_WATCH_SECONDS", 15)
NOTICE_TELL_SECONDS = number("HADASH_NOTICE_TELL_SECONDS", 5)
#: Days for which it is kept what has happened.
NOTICE_KEPT_DAYS = number("HADASH_NOTICE_KEPT_DAYS", 90)

#: A folder with the mail of a demo, which its pages show (``/demo/mail/``); empty in production: there is no such page.
DEMO_MAIL = os.environ.get("HADASH_DEMO_MAIL", "").strip()

# -- reports -----------------------------------------------------------------------------------------------------

#: The time zone of mail to those who have not chosen one.
REPORT_ZONE = os.environ.get("HADASH_REPORT_ZONE", "UTC").strip()
#: Seconds between two looks at which report is due: schedules are to the minute.
REPORT_LOOK_SECONDS = number("HADASH_REPORT_LOOK_SECONDS", 10)
#: Hours for which figures of yesterday count as today's: jobs that run late in the evening, mail in the
#: morning. What is older, and not of today on the reader's clocks, is old.
REPORT_STALE_HOURS = number("HADASH_REPORT_STALE_HOURS", 12)
#: Seconds for which a report waits for figures of today when its time has come: jobs that run at night may be
#: late, and those of a new installation have not published at all. After that it is sent with a subject that
#: says so.
REPORT_AWAIT_SECONDS = number("HADASH_REPORT_AWAIT_SECONDS", 1800)
#: Hours after which a mail with a report is not sent any more: the next one is there by then.
REPORT_EXPIRY_HOURS = number("HADASH_REPORT_EXPIRY_HOURS", 20)
#: Seconds for which the record of a switch that has ended waits at most until what Gateways have seen of it
#: is kept: one that does not answer takes ten of them for each AppID.
REPORT_RECORD_SECONDS = number("HADASH_REPORT_RECORD_SECONDS", 120)
#: Records of switches that a schedule mails within an hour: what a person reads; a batch may have a thousand.
REPORT_RECORDS_AN_HOUR = int(number("HADASH_REPORT_RECORDS_AN_HOUR", 30))
#: Days for which reports can be read on their pages: a year, so that one can be put beside that of a year ago.
REPORT_KEPT_DAYS = number("HADASH_REPORT_KEPT_DAYS", 400)
#: Rows of a file that is attached: servers take some ten megabytes in all.
REPORT_CSV_ROWS = int(number("HADASH_REPORT_CSV_ROWS", 20_000))

"""Settings. Everything that differs between installations comes from the environment; defaults are the sandbox's."""

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
    """A boolean variable: 1, true, yes or on."""
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
    """A variable that is a JSON object of texts. :raises ValueError: naming the variable."""
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
    """A variable that lists networks, separated by commas. :raises ValueError: naming the variable."""
    found = []
    for text in os.environ.get(name, "").split(","):
        if text.strip():
            try:
                found.append(ipaddress.ip_network(text.strip()))
            except ValueError as error:
                raise ValueError(f"{name}: {error}.") from None
    return tuple(found)


def numbers(name: str, default: tuple[float, ...]) -> tuple[float, ...]:
    """A variable that lists numbers, separated by commas. :raises ValueError: naming the variable."""
    text = os.environ.get(name, "").strip()
    if not text:
        return default
    try:
        return tuple(float(each) for each in text.split(","))
    except ValueError:
        raise ValueError(f"{name}={text!r} is not a list of numbers with commas between them.") from None


# -- Django ------------------------------------------------------------------------------------------------------

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

#: The address of PostgreSQL, postgresql://user:password@host:port/name, and the seconds for which a thread keeps a
#: connection: opening one takes some milliseconds of each request.
DATABASES = {
    "default": dj_database_url.parse(
        secret("DATABASE_URL") or "postgresql://hadash@127.0.0.1:5432/hadash",
        conn_max_age=int(number("HADASH_DATABASE_CONNECTION_SECONDS", 60)),
        conn_health_checks=True,
    )
}
#: Seconds of silence after which both sides close a connection to the database. A machine that loses its power
#: does not close its connections: PostgreSQL would keep its worker's locks for two hours (Linux' default), and
#: no other worker could look after its switches.
DATABASE_SILENT_SECONDS = number("HADASH_DATABASE_SILENT_SECONDS", 20)
DATABASES["default"]["OPTIONS"] = ending_in_silence(
    DATABASES["default"].get("OPTIONS", {}), DATABASE_SILENT_SECONDS
)
#: Connections to the database that the requests of a web process share, and seconds for which a request waits
#: for one; 0: each thread keeps its own, as workers do. (A web process serves each request in a thread of its
#: own: each request would open a connection, and 200 people who open a page at once would open 200. PostgreSQL's
#: default max_connections is 100.)
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
#: The language of pages and mail for people who have not chosen one: ``en`` or ``zh-hans``.
LANGUAGE_CODE = os.environ.get("HADASH_LANGUAGE", "en").strip() or "en"
LANGUAGES = [("en", "English"), ("zh-hans", "简体中文")]
LOCALE_PATHS = [Path(__file__).resolve().parent / "locale"]
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

# -- monitoring --------------------------------------------------------------------------------------------------

#: Where workers and beat serve /healthz, /readyz and /metrics: host:port, one for each process of a machine; empty:
#: nowhere. (The web server serves them at its own address, each Gateway at its HADASH_GATEWAY_ADMIN_PORT.)
HEALTH_ADDRESS = os.environ.get("HADASH_HEALTH_ADDRESS", "").strip()
#: Seconds that a health page waits for the servers that it asks, and /metrics for those that it reads from. Probes
#: give up after a second or a few (Kubernetes after one); a server that has not answered by then is not healthy.
HEALTH_SECONDS = number("HADASH_HEALTH_SECONDS", 0.7)
METRICS_SECONDS = number("HADASH_METRICS_SECONDS", 0.9)
#: Seconds without progress after which /healthz reports a process as stuck: a worker with free threads starts no
#: waiting task, or beat sends none. Three times as long as a restart of Redis takes.
HEALTH_STUCK_SECONDS = number("HADASH_HEALTH_STUCK_SECONDS", 120)
#: The token that opens /metrics of the web server and the whole of /readyz ("Authorization: Bearer …"), and the
#: networks from which no token is needed. When neither is set, nobody may read them: behind a proxy that hides the
#: client's address, every request would come from this machine.
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
#: Hours for which a write can be repeated with its idempotency key: a client may be down for a weekend.
API_IDEMPOTENCY_HOURS = number("HADASH_API_IDEMPOTENCY_HOURS", 72)

# -- signing in --------------------------------------------------------------------------------------------------

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

# -- servers -----------------------------------------------------------------------------------------------------

#: The addresses of the servers that hadash's processes share: Redis (redis://… or rediss://…), ZooKeeper (host:port,
#: separated by commas), and the Connect of pairs that name none of their own.
REDIS_URL = secret("REDIS_URL") or "redis://127.0.0.1:6379/0"
ZOOKEEPER_HOSTS = os.environ.get("ZOOKEEPER_HOSTS", "127.0.0.1:2181")
CONNECT_URL = os.environ.get("CONNECT_URL", "http://127.0.0.1:8083")

CELERY_BROKER_URL = REDIS_URL
CELERY_TASK_IGNORE_RESULT = True
#: A task is acknowledged when it has ended, so that the task of a killed worker is not lost. Stages are idempotent.
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
#: Celery's default is a pool of processes (prefork): each would keep connections to every cluster and to ZooKeeper,
#: and its counters would be missing in the worker's metrics. With this setting Celery takes ``--pool prefork`` for
#: threads, too.
CELERY_WORKER_POOL = "threads"
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
#: Redis delivers a stage that takes longer than this again; the second delivery has a used token and stops.
CELERY_BROKER_TRANSPORT_OPTIONS = {"visibility_timeout": 3600}
CELERY_TIMEZONE = "UTC"
#: Jobs of the pipeline have a worker of their own, so that switches do not wait for them.
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

#: Seconds without a renewed lease after which another worker takes over a running switch. The executor renews it
#: every second; the fencing token also stops an old executor that is only slow.
SWITCH_LEASE_SECONDS = number("HADASH_SWITCH_LEASE_SECONDS", 5)
#: Seconds for which heartbeats are held, so that all members of a group learn of the rebalance together: the
#: clients' default heartbeat.interval.ms.
SWITCH_HOLD_HEARTBEATS_SECONDS = number("HADASH_SWITCH_HOLD_HEARTBEATS_SECONDS", 3)
#: Seconds for all members to commit and to park their rejoin: the clients' default session.timeout.ms, after which
#: the cluster removes a member that does not answer.
SWITCH_QUIESCE_SECONDS = number("HADASH_SWITCH_QUIESCE_SECONDS", 45)
#: Seconds for every Gateway to put the block into effect, with all requests in flight answered. Beyond it the switch
#: rolls back, long before a parked client times out (30 s).
SWITCH_BLOCK_SECONDS = number("HADASH_SWITCH_BLOCK_SECONDS", 10)
#: Seconds for the mirror to drain, with writes blocked. The precheck measures the lag first.
SWITCH_DRAIN_SECONDS = number("HADASH_SWITCH_DRAIN_SECONDS", 10)
#: Seconds for which clients may wait in all, from the block until forward begins; beyond it the switch rolls back,
#: even when no single stage has taken too long. Java's request.timeout.ms is 30 s, the shortest time after which a
#: common client abandons a request; the rest of it is for the way back.
SWITCH_BLOCKED_SECONDS = number("HADASH_SWITCH_BLOCKED_SECONDS", 25)
#: Seconds for Connect to accept the order to pause a mirror, with writes blocked. It takes some hundredths of one.
SWITCH_CONNECT_SECONDS = number("HADASH_SWITCH_CONNECT_SECONDS", 5)
#: Seconds for the checks of a preview or a request, while a person waits for the page; each request to a server has
#: its own limit besides. The checks take a second, longer with thousands of Topics, and up to
#: HADASH_MIRROR_CATCH_UP_SECONDS more when a mirror has just been turned round.
SWITCH_CHECK_SECONDS = number("HADASH_SWITCH_CHECK_SECONDS", 30)
#: The lag, in records over all partitions, with which a switch may start: what a mirror copies in a second.
SWITCH_MAX_LAG = int(number("HADASH_SWITCH_MAX_LAG", 5000))
#: What auditors have to say of the mirrors before a switch (docs/auditors.md): "ignored", "differences" (they stop it;
#: mirrors that nobody has proved to be equal are told in its log) or "proof" (only mirrors that are proved equal are
#: switched). A pair's rules may say otherwise. Without auditors there is no proof: that must not stop everybody.
SWITCH_AUDIT = os.environ.get("HADASH_SWITCH_AUDIT", "differences")
if SWITCH_AUDIT not in ("ignored", "differences", "proof"):
    raise ValueError(f"HADASH_SWITCH_AUDIT={SWITCH_AUDIT!r} is not ignored, differences or proof.")
#: Whether Topics with several replicas may be switched although a producer writes to them with acks=1 or acks=0.
#: Such records are acknowledged when only the leader has them, and neither a mirror nor a proof sees them before
#: the followers have them: up to the broker's replica.lag.time.max.ms (30 s) of them can be left behind.
SWITCH_ACCEPT_ACKS_1 = flag("HADASH_SWITCH_ACCEPT_ACKS_1", False)
#: Whether clients may be switched although the target's quotas allow them less than the source's, or although hadash
#: cannot read the quotas (brokers before 2.6, or no right to read them). To its users, a client that had 50 MB/s and
#: gets 1 MB/s looks stopped. Set it for a standby that is meant to be smaller, or for fleets without quotas.
SWITCH_ACCEPT_QUOTAS = flag("HADASH_SWITCH_ACCEPT_QUOTAS", False)
#: Addresses and networks from which brokers see connections through Gateways: the Gateways' own, or the clients'
#: with the PROXY protocol. ACLs for one of these hosts count as written; nobody's rights may depend on an ACL for
#: any other host.
SWITCH_ACL_HOSTS = tuple(
    host.strip() for host in os.environ.get("HADASH_SWITCH_ACL_HOSTS", "").split(",") if host.strip()
)
#: Assignors of this fleet whose members revoke their partitions before they rejoin their group, separated by commas;
#: Kafka's own need not be named. A group with an unknown assignor is not moved: its members might go on reading
#: during the switch.
SWITCH_EAGER_ASSIGNORS = tuple(
    name.strip() for name in os.environ.get("HADASH_SWITCH_EAGER_ASSIGNORS", "").split(",") if name.strip()
)
#: Client libraries, by their names (KIP-511), whose consumers continue from their own positions when they rejoin a
#: group, separated by commas: they are not moved where offsets differ. Libraries that hadash knows
#: (``hadash/switching/stages/reading_on.py``) need not be named.
SWITCH_READING_ON = tuple(
    name.strip() for name in os.environ.get("HADASH_SWITCH_READING_ON", "").split(",") if name.strip()
)
#: Records at the end of each partition whose checksums must match on both sides.
SWITCH_TAIL_RECORDS = int(number("HADASH_SWITCH_TAIL_RECORDS", 16))
#: Seconds that a switch waits for a Gateway after forward before it asks a person to decide.
SWITCH_FORWARD_SECONDS = number("HADASH_SWITCH_FORWARD_SECONDS", 60)
#: Seconds for the opposite mirror to start.
SWITCH_REVERSE_SECONDS = number("HADASH_SWITCH_REVERSE_SECONDS", 60)
#: Seconds for all clients to be seen on the target (the group's join delay is 3 s).
SWITCH_VERIFY_SECONDS = number("HADASH_SWITCH_VERIFY_SECONDS", 60)
#: Seconds for which all clients have to stay on the target before the switch counts as verified.
SWITCH_VERIFY_HOLD_SECONDS = number("HADASH_SWITCH_VERIFY_HOLD_SECONDS", 2)
#: After a forced switch, clients are expected on the target if they used what moves within so many seconds before
#: the lost source was last seen: longer than the pauses of a busy client, shorter than the time that an application
#: is stopped on purpose.
SWITCH_USED_LATELY_SECONDS = number("HADASH_SWITCH_USED_LATELY_SECONDS", 120)
#: Seconds between two looks for clients that wait for a switch that PostgreSQL does not run; each reads all bindings.
STRAY_LOOK_SECONDS = number("HADASH_STRAY_LOOK_SECONDS", 60)

#: Seconds between two attempts to read a lost source's tail.
TAIL_LOOK_SECONDS = number("HADASH_TAIL_LOOK_SECONDS", 10)
#: Seconds for which a lost source that answers may not know Topics that it had, before they count as lost with it: a
#: cluster that starts reports for a moment that its Topics do not exist.
TAIL_UNKNOWN_SECONDS = number("HADASH_TAIL_UNKNOWN_SECONDS", 300)
#: Seconds after the decision for which rebuilding the lost side is retried while a server does not answer. Later a
#: person has to decide again, because the data may be needed otherwise by then.
TAIL_REBUILD_SECONDS = number("HADASH_TAIL_REBUILD_SECONDS", 900)
#: Clients that wrote or read in the last so many seconds before a switch must do so after it: longer than the pauses
#: of steady traffic and the clients' batching.
SWITCH_ACTIVE_SECONDS = number("HADASH_SWITCH_ACTIVE_SECONDS", 5)
#: Seconds between two looks at something that a switch waits for: while clients are blocked, and otherwise.
SWITCH_FAST_POLL_SECONDS = number("HADASH_SWITCH_FAST_POLL_SECONDS", 0.01)
SWITCH_POLL_SECONDS = number("HADASH_SWITCH_POLL_SECONDS", 0.1)
#: Seconds from the last approval (or the beginning of the window) within which a switch has to begin and its
#: consumers have to quiesce: without a worker or ZooKeeper it would run much later, when nobody watches.
SWITCH_BEGIN_SECONDS = number("HADASH_SWITCH_BEGIN_SECONDS", 600)
#: Seconds for which a switch whose checks hold stays paused until somebody resumes it; its radius is reserved
#: meanwhile.
SWITCH_RESUME_SECONDS = number("HADASH_SWITCH_RESUME_SECONDS", 1800)
#: Seconds that DiDi's engines, which acknowledge nothing, get to act on what was written into their ZooKeepers. A
#: broker learns of it by a watch; it closes the connection of a client that is bound elsewhere 2 s after the next
#: request (500 ms of throttle and 1.5 s more, docs/didi-engine.md 2). One more second is for slow brokers. It must be
#: less than HADASH_SWITCH_BLOCK_SECONDS. (DiDi's own platform waits 10 s and then relies on a sum of lags; hadash
#: proves what the mirror holds.)
DIDI_APPLY_SECONDS = number("HADASH_DIDI_APPLY_SECONDS", 3)
#: Seconds for which a manual change of bindings waits for the engines to put it into effect, before it names those
#: that are late. Gateways need milliseconds, DiDi's engines HADASH_DIDI_APPLY_SECONDS. The change stays applied:
#: no client has moved.
BINDING_APPLY_SECONDS = number("HADASH_BINDING_APPLY_SECONDS", 10)
#: Hours after which an undecided request expires.
SWITCH_EXPIRY_HOURS = number("HADASH_SWITCH_EXPIRY_HOURS", 24)
#: Days for which the journal and the placement of an ended switch stay in ZooKeeper: a PostgreSQL that is restored
#: from a backup reads there how far its switches have come, and such a backup is a week old at most.
SWITCH_JOURNAL_DAYS = number("HADASH_SWITCH_JOURNAL_DAYS", 7)
#: Days from the success of a migration until the old Topics are removed, unless the request says otherwise: two weekly
#: jobs have run on the new cluster by then. And the limits for a request or a postponement: at least a day (in which
#: a forgotten client shows), and at most a quarter (after which nobody remembers the old Topics).
RETIREMENT_DAYS = int(number("HADASH_RETIREMENT_DAYS", 14))
RETIREMENT_MIN_DAYS = int(number("HADASH_RETIREMENT_MIN_DAYS", 1))
RETIREMENT_MAX_DAYS = int(number("HADASH_RETIREMENT_MAX_DAYS", 90))
#: The most drafts of requests that one person keeps: more than anybody looks through, and few enough to keep the
#: table small.
DRAFTS_PER_USER = int(number("HADASH_DRAFTS_PER_USER", 50))
#: The most characters in one draft: a reason and a thousand Topics.
DRAFT_MAX_CHARACTERS = int(number("HADASH_DRAFT_MAX_CHARACTERS", 300_000))
#: Seconds without a renewed lease after which another worker continues a removal. It is renewed before each step, and
#: no step takes longer: Connect may rebalance for 30 s and stop a mirror for another 30.
RETIREMENT_LEASE_SECONDS = number("HADASH_RETIREMENT_LEASE_SECONDS", 120)
#: Seconds until a removal is retried after a server did not answer. Nobody waits for it.
RETIREMENT_RETRY_SECONDS = number("HADASH_RETIREMENT_RETRY_SECONDS", 900)
#: Seconds for deleted Topics to be gone from the cluster's metadata: its controller deletes large ones in the
#: background.
RETIREMENT_GONE_SECONDS = number("HADASH_RETIREMENT_GONE_SECONDS", 30)
#: Seconds between two looks that both have to miss a Topic before it counts as gone: a broker that has just started
#: reports for a moment, well below a second, that its Topics do not exist.
RETIREMENT_MISSING_SECONDS = number("HADASH_RETIREMENT_MISSING_SECONDS", 3)
#: Seconds between two looks for removals that are due.
RETIREMENT_LOOK_SECONDS = number("HADASH_RETIREMENT_LOOK_SECONDS", 15)
#: The most radii of one batch: people read what they approve, and each radius is planned first with the batch and
#: again when its turn comes. Ten times as many would still be planned in seconds.
BATCH_MAX_ITEMS = int(number("HADASH_BATCH_MAX_ITEMS", 1000))
#: Switches of a batch that run at once: the default, and the most. Each occupies a worker's thread for its ten
#: seconds, and a worker of the demo has eight; other switches need some of them, too.
BATCH_PARALLELISM = int(number("HADASH_BATCH_PARALLELISM", 4))
BATCH_MAX_PARALLELISM = int(number("HADASH_BATCH_MAX_PARALLELISM", 16))
#: The default number of radii in a wave: about a minute of switches, after which a look is worth while.
BATCH_WAVE_SIZE = int(number("HADASH_BATCH_WAVE_SIZE", 10))
#: Seconds for which a radius whose turn has come is retried while ZooKeeper or a cluster does not answer, or while a
#: change of its bindings is being written. An election takes some seconds and a restart up to a minute; after two
#: minutes people have to know.
BATCH_PATIENCE_SECONDS = number("HADASH_BATCH_PATIENCE_SECONDS", 120)
#: Seconds between two looks at running batches. The end of a switch advances its batch at once; these looks are for
#: signals that were lost with a worker.
BATCH_ADVANCE_SECONDS = number("HADASH_BATCH_ADVANCE_SECONDS", 2)
#: Days for which observed access counts as use when the users of a Topic are determined.
ACCESS_WINDOW_DAYS = number("HADASH_ACCESS_WINDOW_DAYS", 7)
#: Seconds between two samples of mirror lag, and how long samples are kept.
LAG_SAMPLE_SECONDS = number("HADASH_LAG_SAMPLE_SECONDS", 2)
LAG_KEPT_HOURS = number("HADASH_LAG_KEPT_HOURS", 24)
#: Days for which the worst sample of each hour is kept: the longest window of a mirror's page shows 30.
LAG_HOURS_KEPT_DAYS = number("HADASH_LAG_HOURS_KEPT_DAYS", 31)
#: Seconds for the Topics that a mirror has created to have leaders on every broker: a cluster that has just started
#: is slow.
MIRROR_TOPICS_SECONDS = number("HADASH_MIRROR_TOPICS_SECONDS", 60)
#: Seconds for a deleted Topic to be gone: brokers delete in the background.
MIRROR_DELETE_SECONDS = number("HADASH_MIRROR_DELETE_SECONDS", 30)
#: Seconds between two readings of the settings of a mirror's Topics (size limits, timestamps) on both clusters. They
#: change only when a person changes them; a switch reads them in its precheck.
MIRROR_SETTINGS_SECONDS = number("HADASH_MIRROR_SETTINGS_SECONDS", 30)
#: Seconds between two comparisons of a mirror's records with its source's, outside of switches. Each reads the last
#: records of every partition, and the next ones of a walk through everything that both sides hold: at most so many
#: records of a partition, and about so many bytes of a cluster, which a fast network carries in a second.
MIRROR_COMPARE_SECONDS = number("HADASH_MIRROR_COMPARE_SECONDS", 60)
MIRROR_COMPARE_RECORDS = int(number("HADASH_MIRROR_COMPARE_RECORDS", 200))
MIRROR_COMPARE_BYTES = int(number("HADASH_MIRROR_COMPARE_BYTES", 64 * 1024 * 1024))
#: Seconds after which an auditor's comparison proves nothing any more about what is there now. Auditors note how far
#: they are every few seconds; a minute is time for one to die and for another one to take its partitions.
AUDIT_STALE_SECONDS = number("HADASH_AUDIT_STALE_SECONDS", 60)
#: Seconds that a cluster may take to hand out a record that a person wants to see. A person waits for it.
AUDIT_READ_SECONDS = number("HADASH_AUDIT_READ_SECONDS", 5)
#: Seconds of one round of looks (every HADASH_LAG_SAMPLE_SECONDS) after which comparisons that are due wait for the
#: next round: a pair with a thousand mirrors is compared less often, and its lag is still measured.
MIRROR_COMPARE_ROUND_SECONDS = number("HADASH_MIRROR_COMPARE_ROUND_SECONDS", 1)
#: How many times larger than its Topic's max.message.bytes a record may be before compression: that limit counts
#: what a producer has compressed, and a mirror's producer sends it uncompressed. JSON, Avro and log lines shrink to a
#: fourth or an eighth. A larger record stops the mirror, which is reported, and nothing is lost.
MIRROR_UNCOMPRESSED_FACTOR = number("HADASH_MIRROR_UNCOMPRESSED_FACTOR", 8)
#: Seconds for a mirror to copy what its source held when the precheck of a switch began; a lag that remains is not
#: transient. As long as a drain may take, but nobody is blocked here.
MIRROR_CATCH_UP_SECONDS = number("HADASH_MIRROR_CATCH_UP_SECONDS", 10)
#: Seconds between two notes of the consumer groups' positions. After a forced switch, whose source cannot be asked
#: any more, consumers read again what they have read since the last note.
POSITION_NOTE_SECONDS = number("HADASH_POSITION_NOTE_SECONDS", 5)
#: Groups that are read and stored together in one part of a note: a cluster before 3.0 takes some milliseconds each.
POSITION_GROUPS_AT_ONCE = int(number("HADASH_POSITION_GROUPS_AT_ONCE", 500))
#: Seconds for which unreadable groups are read after all others: each attempt may take HADASH_KAFKA_REQUEST_SECONDS.
POSITION_AGAIN_SECONDS = number("HADASH_POSITION_AGAIN_SECONDS", 60)
#: Seconds between two collections of access from the Gateways, and between two looks at clusters.
ACCESS_COLLECT_SECONDS = number("HADASH_ACCESS_COLLECT_SECONDS", 3)
CLUSTER_LOOK_SECONDS = number("HADASH_CLUSTER_LOOK_SECONDS", 15)
#: Seconds between two samples of each Gateway for the lines on its page, and how long these and the clusters' samples
#: are kept: a day of one Gateway or cluster is 5,760 rows. The state of a cluster at each snapshot (its controller,
#: its partitions) is kept longer: that is one row per snapshot. So is what each Gateway did at most within an hour:
#: the longest window of its page is a month.
GATEWAY_SAMPLE_SECONDS = number("HADASH_GATEWAY_SAMPLE_SECONDS", 15)
SAMPLES_KEPT_HOURS = number("HADASH_SAMPLES_KEPT_HOURS", 24)
GATEWAY_HOURS_KEPT_DAYS = number("HADASH_GATEWAY_HOURS_KEPT_DAYS", 31)
CLUSTER_STATES_KEPT_DAYS = number("HADASH_CLUSTER_STATES_KEPT_DAYS", 35)
#: Seconds between two signs of life of a worker, and seconds of silence after which it counts as gone: three of the
#: signs may be lost.
WORKER_PRESENCE_SECONDS = number("HADASH_WORKER_PRESENCE_SECONDS", 5)
WORKER_SILENT_SECONDS = number("HADASH_WORKER_SILENT_SECONDS", 20)
#: Days for which the daily figures of the overview are kept: a trend shows thirty.
DAILY_FIGURES_KEPT_DAYS = number("HADASH_DAILY_FIGURES_KEPT_DAYS", 35)
#: Seconds to wait for an answer of a Gateway's admin address.
GATEWAY_REQUEST_SECONDS = number("HADASH_GATEWAY_REQUEST_SECONDS", 2)
#: Hosts on which Gateways may be asked for their state: networks, addresses, host names, and all names below one
#: (".example.com"). The Gateways' addresses come from ZooKeeper. The default is this machine and private networks;
#: name only your Gateways' own where you can.
GATEWAY_ADMIN_HOSTS = [
    text.strip()
    for text in os.environ.get(
        "HADASH_GATEWAY_ADMIN_HOSTS", "127.0.0.0/8,::1,10.0.0.0/8,172.16.0.0/12,192.168.0.0/16,fc00::/7"
    ).split(",")
    if text.strip()
]
#: The longest answer of a Gateway in bytes: 20,000 connections (its own limit) take some 10 MB. And seconds for all
#: of it to arrive.
GATEWAY_ANSWER_BYTES = int(number("HADASH_GATEWAY_ANSWER_BYTES", 64 * 1024 * 1024))
GATEWAY_ANSWER_SECONDS = number("HADASH_GATEWAY_ANSWER_SECONDS", 10)
#: Length of a Gateway's traffic samples; it has to be the Gateway's own setting of this name.
GATEWAY_TRAFFIC_SECONDS = number("HADASH_GATEWAY_TRAFFIC_SECONDS", 0.5)

# -- the audit log -----------------------------------------------------------------------------------------------

#: Where signed digests of the audit log are kept (a folder, s3a://… or hdfs://…), out of reach of anybody who can
#: write to the database; empty: there are none. And the seconds between two of them: an entry that is altered
#: before the next digest leaves no trace there.
AUDIT_ANCHORS = os.environ.get("HADASH_AUDIT_ANCHORS", "").strip()
AUDIT_ANCHOR_SECONDS = number("HADASH_AUDIT_ANCHOR_SECONDS", 900)

# -- the pipeline ------------------------------------------------------------------------------------------------

#: The lake: a folder, s3a://… or hdfs://…; the default is the Gateway's. Without a lake there are no jobs.
LAKE = os.environ.get("HADASH_LAKE", os.environ.get("HADASH_GATEWAY_LAKE", "")).strip()
#: A Kafka Topic with the access reports of Gateways that this installation does not see; without it no job reads any.
#: And the file with the connection settings of its cluster, in the format of Kafka's own tools
#: (bootstrap.servers=…): for the workers.
LAKE_TOPIC = os.environ.get("HADASH_LAKE_TOPIC", "").strip()
LAKE_TOPIC_PROPERTIES = os.environ.get("HADASH_LAKE_TOPIC_PROPERTIES", "").strip()
#: Seconds between two looks for jobs that are due: schedules are to the minute.
PIPELINE_LOOK_SECONDS = number("HADASH_PIPELINE_LOOK_SECONDS", 5)
#: Seconds after which a run that no worker has begun is handed over again: the first message may be lost with Redis.
PIPELINE_HAND_AGAIN_SECONDS = number("HADASH_PIPELINE_HAND_AGAIN_SECONDS", 60)
#: Seconds that a run may wait for a worker before an alarm is raised: the longest other run takes minutes.
PIPELINE_WAIT_SECONDS = number("HADASH_PIPELINE_WAIT_SECONDS", 1800)
#: How often a failed run is retried, and after how many seconds: a database or an object store that restarts is back
#: by then.
PIPELINE_RETRIES = int(number("HADASH_PIPELINE_RETRIES", 2))
PIPELINE_RETRY_SECONDS = number("HADASH_PIPELINE_RETRY_SECONDS", 60)
#: Seconds after which a run is ended, so that the next run of a daily schedule need not wait for it.
PIPELINE_JOB_SECONDS = number("HADASH_PIPELINE_JOB_SECONDS", 6 * 3600)
#: The nice value of the jobs' processes (0: none, 19: as low a priority as possible). Nobody waits for a job, and
#: people wait for a switch.
PIPELINE_NICE = int(number("HADASH_PIPELINE_NICE", 10))
#: Seconds for which a Spark application waits for its next job before it ends: jobs that are due together, or one
#: that a person runs again, need not wait for Spark to start. It keeps its memory meanwhile (a gigabyte). 0: each
#: job has its own application.
PIPELINE_IDLE_SECONDS = number("HADASH_PIPELINE_IDLE_SECONDS", 300)
#: Published runs of each job that are kept, and days for which the last run of each day is kept besides: changes since
#: Monday two weeks ago can be shown. The coverage is kept for longer, as its trend by AppID shows
#: thirty: a run has one row for each AppID.
PIPELINE_KEEP = int(number("HADASH_PIPELINE_KEEP", 5))
PIPELINE_KEEP_DAYS = int(number("HADASH_PIPELINE_KEEP_DAYS", 15))
PIPELINE_COVERAGE_KEEP_DAYS = int(number("HADASH_PIPELINE_COVERAGE_KEEP_DAYS", 31))
#: Days for which access reports and snapshots stay in the lake. (The results of the reports stay: facts look back
#: 63 days.)
LAKE_KEPT_DAYS = int(number("HADASH_LAKE_KEPT_DAYS", 90))
SNAPSHOTS_KEPT_DAYS = int(number("HADASH_SNAPSHOTS_KEPT_DAYS", 30))
#: Seconds by which a mirror may be late unless its pair's rules say otherwise: ten times what a busy mirror needs for
#: its batches.
RPO_SECONDS = number("HADASH_RPO_SECONDS", 30)

# -- mail --------------------------------------------------------------------------------------------------------

#: The server that accepts mail; empty: none is sent, and queued mail waits. Its port, and how the connection is
#: encrypted: "starttls" (587), "tls" (465) or "none" (25), which is for a relay on this machine only (hadash.E015).
SMTP_HOST = os.environ.get("HADASH_SMTP_HOST", "").strip()
SMTP_SECURITY = os.environ.get("HADASH_SMTP_SECURITY", "starttls").strip().lower()
SMTP_PORT = int(number("HADASH_SMTP_PORT", {"starttls": 587, "tls": 465}.get(SMTP_SECURITY, 25)))
SMTP_USERNAME = os.environ.get("HADASH_SMTP_USERNAME", "")
SMTP_PASSWORD = secret("HADASH_SMTP_PASSWORD")
#: Certificates of the authorities that may sign the server's certificate (PEM); empty: the system's.
SMTP_CA = os.environ.get("HADASH_SMTP_CA", "").strip()
#: Seconds for each answer of the server: RFC 5321 allows minutes, but all other mail waits behind it.
SMTP_TIMEOUT_SECONDS = number("HADASH_SMTP_TIMEOUT_SECONDS", 30)
#: Seconds for the answer to the message text alone: the server scans it for viruses before it accepts it, and after
#: an earlier timeout nobody knows whether it was accepted (RFC 5321, 4.5.3.2.6, asks for ten minutes).
SMTP_TAKING_SECONDS = number("HADASH_SMTP_TAKING_SECONDS", 600)
#: Messages in one connection: many servers end it after one or a few hundred.
SMTP_MESSAGES_EACH = int(number("HADASH_SMTP_MESSAGES_EACH", 100))
#: The sender of mail, as readers see it.
MAIL_FROM = os.environ.get("HADASH_MAIL_FROM", "hadash <hadash@localhost>").strip()
#: The address to which undeliverable mail is returned; empty: the sender's. The Maildir into which the mail server
#: puts it, for workers of the queue outbox, which note it on the mail; empty: nobody looks. And the seconds between
#: two looks.
MAIL_RETURN = os.environ.get("HADASH_MAIL_RETURN", "").strip()
BOUNCES = os.environ.get("HADASH_BOUNCES", "").strip()
BOUNCE_LOOK_SECONDS = number("HADASH_BOUNCE_LOOK_SECONDS", 60)
#: hadash's address in a browser, for links in mail. It is not taken from a request, where a client could set it.
PUBLIC_URL = (
    os.environ.get("HADASH_PUBLIC_URL", os.environ.get("HADASH_URL", "http://127.0.0.1:8000")).rstrip("/")
    + "/"
)
#: Seconds between the attempts for a mail that the server defers: greylisting accepts a sender after some minutes, a
#: full mailbox is emptied by the next day. After the last attempt the mail has failed.
MAIL_RETRY_SECONDS = numbers("HADASH_MAIL_RETRY_SECONDS", (60, 300, 900, 3600, 3 * 3600, 6 * 3600, 12 * 3600))
#: The largest share that is added to a delay, at random, so that messages deferred together do not return together.
OUTBOX_RETRY_JITTER = number("HADASH_OUTBOX_RETRY_JITTER", 0.1)
#: Seconds between two looks for messages that are due.
OUTBOX_LOOK_SECONDS = number("HADASH_OUTBOX_LOOK_SECONDS", 5)
#: Messages that a sender claims at once, and seconds for which it holds them: some answers of a slow server. After
#: that, messages not yet handed over are free again, and for those handed over the outcome is unknown.
OUTBOX_CLAIMED_AT_ONCE = int(number("HADASH_OUTBOX_CLAIMED_AT_ONCE", 50))
OUTBOX_CLAIM_SECONDS = number("HADASH_OUTBOX_CLAIM_SECONDS", 300)
#: The longest time in seconds between two attempts while the mail server is away: the longer it is away, the more
#: rarely it is asked.
OUTBOX_AWAY_SECONDS = number("HADASH_OUTBOX_AWAY_SECONDS", 600)
#: Entries of a message's history that are kept (the last ones).
OUTBOX_LOG_ENTRIES = int(number("HADASH_OUTBOX_LOG_ENTRIES", 20))
#: Messages in a row with an unknown outcome after which a sender leaves the others for later: the server does not
#: accept mail properly.
OUTBOX_UNTOLD_IN_A_ROW = int(number("HADASH_OUTBOX_UNTOLD_IN_A_ROW", 2))
#: Seconds before a message expires at which it is tried for the last time, if its next attempt would be later.
OUTBOX_LAST_TRY_SECONDS = number("HADASH_OUTBOX_LAST_TRY_SECONDS", 900)
#: Days for which sent messages are kept.
OUTBOX_KEPT_DAYS = number("HADASH_OUTBOX_KEPT_DAYS", 90)

# -- notices -----------------------------------------------------------------------------------------------------

#: Private networks that webhooks may be posted to, such as 10.0.0.0/8; nothing is posted to any other private network,
#: so that a person who sets up a channel cannot make a worker reach internal servers.
WEBHOOK_NETWORKS = networks("HADASH_WEBHOOK_NETWORKS")
#: Whether a webhook's address may be http://, which everybody on the way can read. For the sandbox.
WEBHOOK_PLAIN = flag("HADASH_WEBHOOK_PLAIN", False)
#: Seconds for a post, from the connection to the end of its answer: Standard Webhooks asks receivers to answer within
#: 15 to 30.
WEBHOOK_TIMEOUT_SECONDS = number("HADASH_WEBHOOK_TIMEOUT_SECONDS", 20)
#: Seconds between the attempts of a post (the schedule of Standard Webhooks without its last ten hours: nobody needs
#: yesterday's notice).
WEBHOOK_RETRY_SECONDS = numbers("HADASH_WEBHOOK_RETRY_SECONDS", (5, 300, 1800, 2 * 3600, 5 * 3600, 10 * 3600))
#: Seconds between two messages to one person or channel: events in between come as one message.
NOTICE_GAP_SECONDS = number("HADASH_NOTICE_GAP_SECONDS", 60)
#: Seconds that a mirror or a Gateway has to be in trouble before anybody is notified: a restart takes less.
NOTICE_HOLD_SECONDS = number("HADASH_NOTICE_HOLD_SECONDS", 60)
#: Minutes before a request expires at which its approvers are reminded.
NOTICE_EXPIRY_MINUTES = number("HADASH_NOTICE_EXPIRY_MINUTES", 60)
#: Hours after which a notice is no longer sent.
NOTICE_EXPIRY_HOURS = number("HADASH_NOTICE_EXPIRY_HOURS", 24)
#: Seconds between two looks at mirrors, Gateways and jobs, and between two rounds of sending notices.
NOTICE_WATCH_SECONDS = number("HADASH_NOTICE_WATCH_SECONDS", 15)
NOTICE_TELL_SECONDS = number("HADASH_NOTICE_TELL_SECONDS", 5)
#: Days for which events are kept.
NOTICE_KEPT_DAYS = number("HADASH_NOTICE_KEPT_DAYS", 90)

#: A folder with the mail of a demo, shown at ``/demo/mail/``; empty in production, where there is no such page.
DEMO_MAIL = os.environ.get("HADASH_DEMO_MAIL", "").strip()

# -- reports -----------------------------------------------------------------------------------------------------

#: The time zone of mail to people who have not chosen one.
REPORT_ZONE = os.environ.get("HADASH_REPORT_ZONE", "UTC").strip()
#: Seconds between two looks for reports that are due: schedules are to the minute.
REPORT_LOOK_SECONDS = number("HADASH_REPORT_LOOK_SECONDS", 10)
#: Hours for which yesterday's figures count as today's: jobs may run late in the evening, and mail goes out in the
#: morning. Older figures that are not of today in the reader's time zone are stale.
REPORT_STALE_HOURS = number("HADASH_REPORT_STALE_HOURS", 12)
#: Seconds for which a due report waits for today's figures: nightly jobs may be late, and those of a new installation
#: have not published yet. After that it is sent with a subject that says so.
REPORT_AWAIT_SECONDS = number("HADASH_REPORT_AWAIT_SECONDS", 1800)
#: Hours after which a report's mail is no longer sent: the next report is there by then.
REPORT_EXPIRY_HOURS = number("HADASH_REPORT_EXPIRY_HOURS", 20)
#: The longest time in seconds that the record of an ended switch waits until the Gateways' observations of it are
#: stored: a Gateway that does not answer takes ten seconds for each AppID.
REPORT_RECORD_SECONDS = number("HADASH_REPORT_RECORD_SECONDS", 120)
#: The most records of switches that a schedule mails within an hour: what a person can read; a batch may have a
#: thousand.
REPORT_RECORDS_AN_HOUR = int(number("HADASH_REPORT_RECORDS_AN_HOUR", 30))
#: Days for which reports can be read on their pages: more than a year, to compare one with the year before.
REPORT_KEPT_DAYS = number("HADASH_REPORT_KEPT_DAYS", 400)
#: Rows of an attached file: servers accept some ten megabytes in all.
REPORT_CSV_ROWS = int(number("HADASH_REPORT_CSV_ROWS", 20_000))

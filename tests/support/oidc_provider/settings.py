"""Settings of the provider's process."""

import os
from pathlib import Path

FOLDER = Path(os.environ["PROVIDER_FOLDER"])
ISSUER = f"http://127.0.0.1:{os.environ['PROVIDER_PORT']}/o"

SECRET_KEY = "of-the-tests-provider"
ALLOWED_HOSTS = ["127.0.0.1"]
USE_TZ = True
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": FOLDER / "provider.sqlite3"}}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "oauth2_provider",
]
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
]
ROOT_URLCONF = "support.oidc_provider.urls"
LOGIN_URL = "/login/"
# Cookies know no ports: hadash's are beside them.
SESSION_COOKIE_NAME, CSRF_COOKIE_NAME = "provider_session", "provider_csrf"

LOGIN_PAGE = '<form method="post">{% csrf_token %}{{ form }}<button>Log in</button></form>'
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "OPTIONS": {
            "context_processors": ["django.template.context_processors.request"],
            "loaders": [("django.template.loaders.locmem.Loader", {"registration/login.html": LOGIN_PAGE})],
        },
    }
]

OAUTH2_PROVIDER = {
    "OIDC_ENABLED": True,
    "OIDC_ISS_ENDPOINT": ISSUER,
    "OIDC_RSA_PRIVATE_KEY": (FOLDER / "key.pem").read_text(),
    "OIDC_RP_INITIATED_LOGOUT_ENABLED": True,
    "OIDC_RP_INITIATED_LOGOUT_ALWAYS_PROMPT": False,
    "OAUTH2_VALIDATOR_CLASS": "support.oidc_provider.claims.Validator",
    "PKCE_REQUIRED": True,
    "SCOPES": {"openid": "who you are", "profile": "your name", "email": "your address"},
}

"""``python -m support.oidc_provider CLIENT.JSON``: prepare the database and serve.

The file says which client may come (``client_id``, ``client_secret``, ``redirect_uri``, ``after_sign_out``)
and which people there are (``people``: user name → password).
"""

import json
import os
import sys
from pathlib import Path

import django
import uvicorn

os.environ["DJANGO_SETTINGS_MODULE"] = "support.oidc_provider.settings"
django.setup()

from django.contrib.auth.models import User  # noqa: E402
from django.core.asgi import get_asgi_application  # noqa: E402
from django.core.management import call_command  # noqa: E402
from oauth2_provider.models import Application  # noqa: E402

told = json.loads(Path(sys.argv[1]).read_text())
call_command("migrate", verbosity=0)
for username, password in told["people"].items():
    if not User.objects.filter(username=username).exists():
        User.objects.create_user(username, password=password)
Application.objects.update_or_create(
    client_id=told["client_id"],
    defaults={
        "client_secret": told["client_secret"],
        "client_type": Application.CLIENT_CONFIDENTIAL,
        "authorization_grant_type": Application.GRANT_AUTHORIZATION_CODE,
        "algorithm": Application.RS256_ALGORITHM,
        "redirect_uris": told["redirect_uri"],
        "post_logout_redirect_uris": told["after_sign_out"],
        "skip_authorization": True,
    },
)
uvicorn.run(
    get_asgi_application(), host="127.0.0.1", port=int(os.environ["PROVIDER_PORT"]), log_level="warning"
)

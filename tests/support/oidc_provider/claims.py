"""What the provider says of a person."""

from __future__ import annotations

import json
from typing import Any

from django.conf import settings
from oauth2_provider.oauth2_validators import OAuth2Validator


class Validator(OAuth2Validator):
    #: Every claim whatever the scope: which claims belong to which is the toolkit's matter, not ours.
    oidc_claim_scope = None

    def get_additional_claims(self, request: Any) -> dict[str, Any]:
        username = request.user.get_username()
        people = json.loads((settings.FOLDER / "people.json").read_text())
        return {"preferred_username": username, **people.get(username, {})}

"""The navigation shows where somebody is."""

from __future__ import annotations

import re
from types import SimpleNamespace

import pytest
from django.urls import reverse
from support.html import squeezed

from dashboard.parts import PASSWORD, signed_in
from hadash.accounts.roles import ensure_user
from hadash.dashboard import urls
from hadash.dashboard.sections import OWN, SECTIONS


def test_every_page_is_below_an_entry() -> None:
    """A page whose address begins with something new has to be put somewhere."""
    beginnings = {str(pattern.pattern).partition("/")[0] for pattern in urls.urlpatterns}
    assert beginnings == SECTIONS.keys() | OWN


@pytest.mark.stack
@pytest.mark.django_db
def test_the_entry_is_marked(fleet: SimpleNamespace) -> None:
    ada = signed_in(ensure_user("ada", PASSWORD, "administrator", "Ada Admin"))

    def marked(address: str) -> list[str]:
        page = squeezed(ada.get(address).content.decode())
        navigation = page[page.index("<nav") : page.index("</nav>")]
        return re.findall(r'<a href="([^"]*)" aria-current="page">', navigation)

    for entry in set(SECTIONS.values()):
        assert marked(reverse(entry)) == [reverse(entry)]
    assert marked(reverse("rules", args=[fleet.pair.pk])) == [reverse("overview")]
    assert marked(reverse("tokens")) == []
    assert marked("/nowhere/") == []

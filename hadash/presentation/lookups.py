"""What an address names, for pages and for the API. What somebody may not see is not there for them."""

from __future__ import annotations

from typing import Any

from django.http import Http404
from django.utils.translation import gettext as _

from hadash.inventory.models import AppID
from hadash.presentation import selectors
from hadash.switching.models.switches import Switch


def the_switch(user: Any, key: str) -> Switch:
    """:raises Http404: with a sentence that helps; also for what ``user`` may not see."""
    found = selectors.switches(user).defer(None).filter(key=key).first()
    if found is None:
        raise Http404(_("There is no switch %(key)s.") % {"key": key})
    return found


def switch_with_all(key: str) -> Switch:
    """The same without a check of rights, which the caller has made. :raises Switch.DoesNotExist: there is none."""
    return selectors.with_relations(Switch.objects).get(key=key)


def the_appid(user: Any, pk: int) -> AppID:
    """:raises Http404: the same."""
    found = selectors.appids(user).filter(pk=pk).first()
    if found is None:
        raise Http404(_("There is no AppID with number %(pk)s.") % {"pk": pk})
    return found

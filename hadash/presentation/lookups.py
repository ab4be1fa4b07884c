"""Looking up objects by their address, for pages and the API. Objects that the user may not see are not found."""

from __future__ import annotations

from typing import Any

from django.http import Http404
from django.utils.translation import gettext as _

from hadash.inventory.models import AppID
from hadash.presentation import appid_rows, selectors
from hadash.switching.models.switches import Switch


def the_switch(user: Any, key: str) -> Switch:
    """Return the switch with this key.

    :raises Http404: there is none, or ``user`` may not see it.
    """
    found = selectors.switches(user).defer(None).filter(key=key).first()
    if found is None:
        raise Http404(_("There is no switch %(key)s.") % {"key": key})
    return found


def switch_with_all(key: str) -> Switch:
    """Return the switch with this key without checking rights, which the caller has done.

    :raises Switch.DoesNotExist: there is none.
    """
    return selectors.with_relations(Switch.objects).get(key=key)


def the_appid(user: Any, pk: int) -> AppID:
    """Return the AppID with this number.

    :raises Http404: there is none, or ``user`` may not see it.
    """
    found = appid_rows.appids(user).filter(pk=pk).first()
    if found is None:
        raise Http404(_("There is no AppID with number %(pk)s.") % {"pk": pk})
    return found

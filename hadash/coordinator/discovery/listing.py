"""The interface of a service discovery."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from hadash.sentences import Explained


class DiscoveryUnavailable(Explained):
    """The discovery does not answer, or with something else than a list of members: nothing is known of them."""


class Discovery(Protocol):
    """Lists the members of one pool."""

    def members(self) -> Mapping[str, str]:
        """Return member → the URL at which its status is asked.

        :raises DiscoveryUnavailable: it is not known which members there are.
        """
        ...

"""What can go wrong with a change of bindings. Each message is for the person who reads the switch's log."""

from __future__ import annotations


class BindingError(Exception):
    """Base; never raised itself."""


class StaleWriter(BindingError):
    """A newer executor has taken over this switch: whoever gets this must stop at once."""


class NameTaken(BindingError):
    """Another Gateway lives under this name."""


class BindingBusy(BindingError):
    """Another switch holds one of the identities."""


class BindingConflict(BindingError):
    """Somebody else changed a document in between, again and again."""


class StoreUnavailable(BindingError):
    """ZooKeeper cannot be reached. Nothing was changed."""


class UnknownOutcome(BindingError):
    """The reply of ZooKeeper was lost and could not be read back: the change may or may not have happened."""


class TopicInTwoLists(BindingError):
    """A Topic list shares a Topic with another bound list: which of the two governs it could not be said."""


class NoSuchMember(BindingError):
    """A Gateway that is no member."""


class NotKnownToEngine(BindingError):
    """The engine that governs the pair cannot bind such an identity."""


class NotConfigured(BindingError):
    """The engine's servers are not known, or are not those that they should be."""

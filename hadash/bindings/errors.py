"""The errors of a change of bindings. Each sentence is for the person who reads the switch's log."""

from __future__ import annotations

from hadash.sentences import Explained


class BindingError(Explained):
    """Base class; never raised itself."""


class StaleWriter(BindingError):
    """A newer executor has taken over this switch: the caller must stop at once."""


class NameTaken(BindingError):
    """Another Gateway lives under this name."""


class Superseded(NameTaken):
    """Another process has taken this Gateway's name while it was cut off from ZooKeeper. It must stop relaying at
    once."""


class AlreadyForwarded(BindingError):
    """This switch has already sent the identity to its target. The caller has lost that fact: it must read back how far
    the switch came, and continue from there."""


class NotBlocked(BindingError):
    """A switch may send an identity to another cluster only while it blocks the identity itself."""


class FactsTooLarge(BindingError):
    """The facts that the stages of a switch keep for each other do not fit into one node of ZooKeeper."""


class BindingBusy(BindingError):
    """Another switch holds one of the identities."""


class BindingConflict(BindingError):
    """Another writer changed a document in between, again and again."""


class StoreUnavailable(BindingError):
    """ZooKeeper cannot be reached. Nothing was changed."""


class ForeignStore(StoreUnavailable):
    """The chroot in ZooKeeper belongs to another installation. Nothing was changed."""


class NotAllowed(StoreUnavailable):
    """ZooKeeper answers, but denies this user access to hadash's nodes. Nothing was changed."""


class UnknownOutcome(BindingError):
    """ZooKeeper's reply was lost and the result could not be read back: the change may or may not have happened."""


class TopicInTwoLists(BindingError):
    """A Topic list shares a Topic with another bound list, so it would be undefined which of the two governs it."""


class NoSuchMember(BindingError):
    """The Gateway is not a member."""


class NotKnownToEngine(BindingError):
    """The engine that governs the pair cannot bind such an identity."""


class NotConfigured(BindingError):
    """The engine's servers are not known, or are not the expected ones."""

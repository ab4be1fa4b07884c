"""What can go wrong with a change of bindings. Each message is for the person who reads the switch's log."""

from __future__ import annotations


class BindingError(Exception):
    """Base; never raised itself."""


class StaleWriter(BindingError):
    """A newer executor has taken over this switch: whoever gets this must stop at once."""


class NameTaken(BindingError):
    """Another Gateway lives under this name."""


class Superseded(NameTaken):
    """Another process has taken this Gateway's name while it was cut off from ZooKeeper. It must stop relaying at
    once."""


class AlreadyForwarded(BindingError):
    """This switch has sent the identity to its target already. Whoever gets this has forgotten it: it has to read back
    how far the switch came, and goes on from there."""


class NotBlocked(BindingError):
    """A switch may send an identity to another cluster only while it blocks the identity itself."""


class FactsTooLarge(BindingError):
    """What the stages of a switch keep for each other does not fit into one node of ZooKeeper."""


class BindingBusy(BindingError):
    """Another switch holds one of the identities."""


class BindingConflict(BindingError):
    """Somebody else changed a document in between, again and again."""


class StoreUnavailable(BindingError):
    """ZooKeeper cannot be reached. Nothing was changed."""


class ForeignStore(StoreUnavailable):
    """The chroot in ZooKeeper is another installation's. Nothing was changed."""


class NotAllowed(StoreUnavailable):
    """ZooKeeper answers, and keeps hadash's nodes from this user. Nothing was changed."""


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

"""Reasons that people type: every one of them is checked here. They are stored as the audit log has them."""

from __future__ import annotations

from hadash.audit.models import stored
from hadash.refusals import Refused
from hadash.sentences import Sentence, say

#: The most characters in a reason: a page. Longer texts belong elsewhere.
MAX_REASON = 2000


def given(reason: str, missing: Sentence, most: int = MAX_REASON) -> str:
    """The reason as it is stored.

    :param missing: the refusal of an empty one. :param most: characters; fewer where it has to fit into a line.
    :raises Refused: the reason is empty or too long.
    """
    text = str(stored(reason)).strip()
    if not text:
        raise Refused(missing)
    if len(text) > most:
        raise Refused(
            say("That is %(length)s characters; at most %(most)s fit.", length=len(text), most=most)
        )
    return text


def for_requesting(reason: str) -> str:
    """The reason for a request, as it is stored. :raises Refused: it is empty or too long."""
    return given(reason, say("Say why: the approver reads it, and others read it later."))


def for_cancelling(reason: str) -> str:
    """The reason for cancelling, as it is stored. :raises Refused: it is empty or too long."""
    return given(reason, say("Say why you cancel it: those who wait for it read it."))

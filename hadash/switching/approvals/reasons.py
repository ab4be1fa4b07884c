"""Why somebody does something: every reason that a person types goes through here."""

from __future__ import annotations

from hadash.audit.models import stored
from hadash.refusals import Refused
from hadash.sentences import Sentence, say

#: Characters of a reason: a page of it. Who has more to say has another place for it.
MAX_REASON = 2000


def given(reason: str, missing: Sentence) -> str:
    """The reason as it is kept.

    :param missing: what to say when there is none. :raises Refused: there is none, or too much.
    """
    text = str(stored(reason)).strip()
    if not text:
        raise Refused(missing)
    if len(text) > MAX_REASON:
        raise Refused(
            say("That is %(length)s characters; at most %(most)s fit.", length=len(text), most=MAX_REASON)
        )
    return text


def for_cancelling(reason: str) -> str:
    """:raises Refused: there is none, or too much."""
    return given(reason, say("Say why you cancel it: whoever waits for it reads it."))

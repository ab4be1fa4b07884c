"""Names that people type again, to confirm what cannot be undone: every one of them is compared here."""

from __future__ import annotations

import unicodedata

from hadash.refusals import Refused
from hadash.sentences import Sentence


def is_given(typed: str, name: str) -> bool:
    """Whether ``typed`` is that name. Spaces around it do not count, nor in which of its forms a letter was typed (some
    keyboards send é as e and an accent).

    >>> is_given(" zürich ", "zu\\u0308rich"), is_given("West", "west")
    (True, False)
    """
    return unicodedata.normalize("NFC", typed).strip() == unicodedata.normalize("NFC", name).strip()


def require(typed: str, name: str, refusal: Sentence) -> None:
    """Refuse what was not confirmed. :raises Refused: with this refusal, because another name was typed, or none."""
    if not is_given(typed, name):
        raise Refused(refusal)

"""Sentences of the engine, written once: logs, pages, the API and tests share them.

A sentence is an English template and its values. Templates are translated where they are shown, so a log that a
worker wrote reads in the language of its reader.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Sentence:
    """A template and its values. ``text`` has named places such as ``%(epoch)s`` and is the key of its translation."""

    text: str
    values: Mapping[str, Any] = field(default_factory=dict)

    def __bool__(self) -> bool:
        """Whether it says anything: :data:`NOTHING` does not."""
        return bool(self.text)

    def __str__(self) -> str:
        """The English sentence.

        >>> str(say("Waiting for %(gateway)s.", gateway="gateway-2"))
        'Waiting for gateway-2.'
        """
        return fill(self.text, self.values)

    def to_json(self) -> dict[str, Any]:
        return {"text": self.text, "values": dict(self.values)} if self else {}

    @classmethod
    def from_json(cls, value: Any) -> Sentence:
        """The sentence that :meth:`to_json` wrote; any other value becomes a sentence of its text, without places.

        >>> Sentence.from_json("") == Sentence.from_json({}) == NOTHING
        True
        """
        if isinstance(value, dict) and isinstance(value.get("text"), str):
            values = value.get("values")
            return cls(value["text"], values if isinstance(values, dict) else {})
        return cls("%(text)s", {"text": str(value)}) if value else NOTHING


#: No sentence, where there may be one: there is no fault, or nothing to say.
NOTHING = Sentence("")


def say(text: str, /, **values: Any) -> Sentence:
    """A sentence: ``say("Epoch %(epoch)s is in effect.", epoch=7)``. Values are texts, numbers, other sentences (also
    those of errors that explain themselves), or lists of them.

    >>> away = Explained(say("Cluster %(cluster)s does not answer.", cluster="east"))
    >>> str(say("%(error)s Ask again.", error=away))
    'Cluster east does not answer. Ask again.'
    """
    return Sentence(text, {name: _plain(value) for name, value in values.items()})


def joined(*said: Sentence) -> Sentence:
    """The sentences one after the other, without those that say nothing.

    >>> str(joined(say("It is stopped."), NOTHING, say("Start it.")))
    'It is stopped. Start it.'
    """
    found = [each for each in said if each]
    if not found:
        return NOTHING
    whole = found[0]
    for each in found[1:]:
        whole = say("%(first)s %(second)s", first=whole, second=each)
    return whole


class Explained(Exception):
    """An error that explains itself to people. Its own text is English; its sentence is translated where it is shown.

    :param said: a sentence; or a text without a translation, such as a server's own words.
    """

    def __init__(self, said: Sentence | str = "") -> None:
        super().__init__(said)

    @property
    def sentence(self) -> Sentence:
        (said,) = self.args
        return said if isinstance(said, Sentence) else Sentence.from_json(said)


def said_by(error: BaseException) -> Sentence:
    """What an error says: its sentence; of an error that does not explain itself its text or else its kind, without a
    translation.

    >>> str(said_by(Explained(say("Cluster %(cluster)s does not answer.", cluster="east"))))
    'Cluster east does not answer.'
    >>> str(said_by(TimeoutError())), str(said_by(OSError("No space left on device")))
    ('TimeoutError', 'No space left on device')
    """
    if isinstance(error, Explained):
        return error.sentence
    return Sentence.from_json(str(error).strip() or type(error).__name__)


def written(said: Sentence) -> str:
    """``said`` as a text, for tables that hold only texts; :data:`NOTHING` is empty. :func:`read_back` reads it.

    >>> read_back(written(say("Epoch %(epoch)s is in effect.", epoch=7)))
    Sentence(text='Epoch %(epoch)s is in effect.', values={'epoch': 7})
    """
    return json.dumps(said.to_json(), ensure_ascii=False) if said else ""


def read_back(text: str) -> Sentence:
    """The sentence that :func:`written` wrote; another text becomes a sentence without a translation.

    >>> str(read_back("Broker 3 does not answer."))
    'Broker 3 does not answer.'
    """
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    return Sentence.from_json(value if isinstance(value, dict) else text)


def fill(text: str, values: Mapping[str, Any], inner: Callable[[Sentence], str] = str) -> str:
    """``text`` with its places filled, or ``text`` itself when its values do not fit.

    :param inner: returns the text of a sentence within the sentence.
    """
    shown = {name: _shown(value, inner) for name, value in values.items()}
    try:
        return text % shown
    except (KeyError, ValueError, TypeError, OverflowError):
        return text


def _shown(value: Any, inner: Callable[[Sentence], str]) -> Any:
    if isinstance(value, list | tuple):
        return ", ".join(str(_shown(each, inner)) for each in value)
    return inner(Sentence.from_json(value)) if isinstance(value, dict) else value


def _plain(value: Any) -> Any:
    if isinstance(value, Explained):
        value = value.sentence
    if isinstance(value, Sentence):
        return value.to_json()
    if isinstance(value, bool | int | float | str) or value is None:
        return value
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(v) for v in value]
    return str(value)

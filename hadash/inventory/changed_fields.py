"""Describes what registering a cluster again has changed. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping


def sentences(
    before: Mapping[str, str], after: Mapping[str, str], given: Collection[str], hidden: Collection[str]
) -> Iterator[str]:
    """Yield a sentence for each change, and one for the fields that were kept because the file does not name
    them.

    :param given: the fields that the file names.
    :param hidden: the fields whose values are not shown: secrets, and long texts.

    >>> list(sentences({"tls_ca": "PEM", "hosts": "a"}, {"tls_ca": "", "hosts": "b"}, {"tls_ca", "hosts"}, {"tls_ca"}))
    ['tls_ca: removed', 'hosts: a → b']
    >>> list(sentences({"tls_ca": "PEM"}, {"tls_ca": "PEM"}, (), {"tls_ca"}))
    ['kept as registered before, because the file does not name it: tls_ca (to remove a field, give it as "")']
    """
    for field, value in after.items():
        was = before[field]
        if value == was:
            continue
        if field in hidden:
            yield f"{field}: {'changed' if was and value else 'set' if value else 'removed'}"
        else:
            yield f"{field}: {was or '(empty)'} → {value or '(empty)'}"
    kept = [
        field for field, value in after.items() if value and field not in given and value == before[field]
    ]
    if kept:
        yield (
            "kept as registered before, because the file does not name it: "
            f'{", ".join(kept)} (to remove a field, give it as "")'
        )

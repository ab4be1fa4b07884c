"""The subject of a certificate as Java's ``X500Principal.getName()`` writes it; Kafka makes the principal from it.

The form is RFC 2253 as OpenJDK implements it. It differs from Python's ``rfc4514_string`` where it matters: ``=`` is
escaped, so that a value cannot pass for another attribute; and only nine attributes have names, the others are
``OID=#`` and the DER of their value in hex. ``tests/identity/test_principal_as_java.py`` compares the result with
Java's.
"""

from __future__ import annotations

from collections.abc import Iterator

#: The attributes that OpenJDK writes by name (``AVAKeyword``, those of RFC 2253), by object identifier.
KEYWORDS = {
    "2.5.4.3": "CN",
    "2.5.4.6": "C",
    "2.5.4.7": "L",
    "2.5.4.8": "ST",
    "2.5.4.9": "STREET",
    "2.5.4.10": "O",
    "2.5.4.11": "OU",
    "0.9.2342.19200300.100.1.1": "UID",
    "0.9.2342.19200300.100.1.25": "DC",
}

_OBJECT_IDENTIFIER, _SEQUENCE, _SET, _VERSION = 0x06, 0x30, 0x31, 0xA0

#: UTF8String, PrintableString, T61String, IA5String, GeneralString, BMPString. Java decodes the bytes of each as UTF-8.
_STRINGS = frozenset({0x0C, 0x13, 0x14, 0x16, 0x1B, 0x1E})

_ESCAPED = frozenset(',=+<>#;"\\')

#: The characters that Java treats as white space at the ends of a value.
_WHITE_SPACE = " \r"


class BadName(ValueError):
    """The bytes are not a certificate, or not a name, in DER."""


def subject_of(certificate: bytes) -> str:
    """Return the subject of a DER certificate.

    :raises BadName: the certificate cannot be read.
    """
    parts = list(_children(_content(certificate, _SEQUENCE)))
    fields = list(_children(_content(parts[0][1], _SEQUENCE))) if parts else []
    # (version,) serial number, signature algorithm, issuer, validity, subject: RFC 5280, 4.1.
    place = 5 if fields and fields[0][0] == _VERSION else 4
    if len(fields) <= place:
        raise BadName("the certificate has no subject")
    return name_of(fields[place][1])


def name_of(name: bytes) -> str:
    """Return the text of a DER ``Name``: the last relative distinguished name first, as RFC 2253 requires.

    :raises BadName: the name cannot be read.
    """
    parts = [
        "+".join(_attribute(element) for _, element in _children(_content(rdn, _SET)))
        for _, rdn in _children(_content(name, _SEQUENCE))
    ]
    return ",".join(reversed(parts))


def _attribute(element: bytes) -> str:
    """Return one attribute as text, such as ``CN=shop``."""
    parts = list(_children(_content(element, _SEQUENCE)))
    if len(parts) != 2 or parts[0][0] != _OBJECT_IDENTIFIER:
        raise BadName("an attribute of the name is not a type and a value")
    identifier = _dotted(_content(parts[0][1], _OBJECT_IDENTIFIER))
    tag, value = parts[1]
    keyword = KEYWORDS.get(identifier)
    if keyword is None or tag not in _STRINGS:
        return f"{keyword or identifier}=#{value.hex()}"
    return f"{keyword}={_escaped(_content(value, tag).decode(errors='replace'))}"


def _escaped(text: str) -> str:
    escaped = "".join("\\" + c if c in _ESCAPED else "\\00" if c == "\0" else c for c in text)
    inner = escaped.strip(_WHITE_SPACE)
    if not inner:
        return "".join("\\" + c for c in escaped)
    lead = len(escaped) - len(escaped.lstrip(_WHITE_SPACE))
    before, after = escaped[:lead], escaped[lead + len(inner) :]
    return "".join("\\" + c for c in before) + inner + "".join("\\" + c for c in after)


# -- DER ---------------------------------------------------------------------------------------------------------


def _children(content: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the tag and the bytes of each element in ``content``."""
    at = 0
    while at < len(content):
        end = _extent(content, at)[1]
        yield content[at], content[at:end]
        at = end


def _content(element: bytes, tag: int) -> bytes:
    """Return the content of ``element``.

    :raises BadName: the element has another tag, or ``element`` is not exactly one element.
    """
    if not element or element[0] != tag:
        raise BadName(f"an element with tag {tag:#04x} was expected")
    start, end = _extent(element, 0)
    if end != len(element):
        raise BadName("there are bytes behind an element")
    return element[start:end]


def _extent(data: bytes, at: int) -> tuple[int, int]:
    """Return where the content of the element at ``at`` begins and ends."""
    if at + 2 > len(data):
        raise BadName("an element is cut off")
    start, length = at + 2, data[at + 1]
    if length & 0x80:
        octets = length & 0x7F
        start += octets
        length = int.from_bytes(data[at + 2 : start], "big")
        if not 1 <= octets <= 4 or length < 0x80 or length < 1 << 8 * (octets - 1):
            raise BadName("an element's length is not as DER wants it")
    if start + length > len(data):
        raise BadName("an element is cut off")
    return start, start + length


def _dotted(identifier: bytes) -> str:
    """Return an object identifier in dotted form: ``2.5.4.3``."""
    if not identifier or identifier[-1] & 0x80:
        raise BadName("an object identifier is cut off")
    numbers, number = [], 0
    for octet in identifier:
        number = number << 7 | octet & 0x7F
        if not octet & 0x80:
            numbers.append(number)
            number = 0
    first = min(numbers[0] // 40, 2)
    return ".".join(map(str, (first, numbers[0] - 40 * first, *numbers[1:])))

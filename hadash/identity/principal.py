"""From the subject of a client certificate to an AppID, by Kafka's own ``ssl.principal.mapping.rules``.

A list of rules, separated by commas: ``DEFAULT`` takes the whole distinguished name, ``RULE:pattern/replacement/`` takes
the replacement when the pattern matches the whole name, with ``L`` or ``U`` behind it in lower or upper case. The
first rule that matches wins. ``/`` inside a pattern or replacement is written ``\\/``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

#: As in Kafka: one rule, up to the comma or the end.
_RULE = re.compile(
    r"\s*(?:(?P<default>DEFAULT)|RULE:(?P<pattern>(?:\\.|[^\\/])*)/(?P<replacement>(?:\\.|[^\\/])*)/(?P<case>[LU]?))"
    r"\s*(?:,|$)"
)
_GROUP = re.compile(r"\$(\d)")


class BadRules(ValueError):
    """The rules cannot be read. The message says where."""


class NoRule(ValueError):
    """No rule matches a distinguished name."""


@dataclass(frozen=True, slots=True)
class _Rule:
    pattern: re.Pattern[str]
    replacement: str
    case: str

    def apply(self, name: str) -> str | None:
        matched = self.pattern.fullmatch(name)
        if matched is None:
            return None
        groups = len(matched.groups())

        def group(reference: re.Match[str]) -> str:
            number = int(reference[1])
            return (matched[number] or "") if number <= groups else reference[0]

        found = _GROUP.sub(group, self.replacement)
        return {"L": found.lower, "U": found.upper}.get(self.case, lambda: found)()


@dataclass(frozen=True, slots=True)
class PrincipalMapper:
    """Rules in their order.

    >>> PrincipalMapper.read("RULE:^CN=(.*?),OU=Apps.*$/$1/L, DEFAULT").appid("CN=Shop,OU=Apps,O=Acme")
    'shop'
    """

    rules: tuple[_Rule, ...]

    @classmethod
    def read(cls, text: str) -> PrincipalMapper:
        """:raises BadRules: with the part that is no rule."""
        rules, at = [], 0
        text = text.strip()
        while at < len(text):
            found = _RULE.match(text, at)
            if found is None:
                raise BadRules(
                    f"{text[at:].strip()!r} is no mapping rule: write DEFAULT or RULE:pattern/replacement/[LU]."
                )
            if found["default"]:
                rules.append(_Rule(re.compile(r"(.*)", re.DOTALL), "$1", ""))
            else:
                try:
                    pattern = re.compile(found["pattern"].replace(r"\/", "/"))
                except re.error as error:
                    raise BadRules(f"{found['pattern']!r} is no pattern ({error}).") from None
                rules.append(_Rule(pattern, found["replacement"].replace(r"\/", "/"), found["case"]))
            at = found.end()
        return cls(tuple(rules))

    def appid(self, distinguished_name: str) -> str:
        """:raises NoRule: none matches, or the one that does leaves nothing."""
        for rule in self.rules:
            found = rule.apply(distinguished_name)
            if found is not None:
                if not found:
                    break
                return found
        raise NoRule(f"no mapping rule makes an AppID of {distinguished_name!r}")

"""Finds client risks in columns, as :mod:`hadash.governance.client_risks` does in rows."""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from hadash.governance.client_risks import RELEASE, Release, Risk, Versions, Who

#: The columns that identify a client, with :func:`key_columns`.
KEYS = ("pair", "appid", "client_key")


def key_columns() -> dict[str, Column]:
    """Return the column of a client.id without nulls: clients without one count as one."""
    return {"client_key": F.coalesce("client_id", F.lit(""))}


def release(version: Column) -> Column:
    """Return the three numbers of a version as an array, which compares as versions do; null for other texts."""
    # (A group of the expression that did not match is empty.)
    three = [F.regexp_extract(version, RELEASE, place).try_cast("int") for place in (1, 2, 3)]
    return F.when(version.rlike(RELEASE), F.array(*(F.coalesce(number, F.lit(0)) for number in three)))


def one_of(versions: Iterable[Versions]) -> Column:
    """Return whether a client's library and version are one of these; false where they are not known."""
    numbers, said = release(F.col("version")), F.lit(False)
    for each in versions:
        for first, fixed in each.spans:
            within = (numbers >= _literal(first)) & (numbers < _literal(fixed))
            said = said | ((F.col("library") == each.library) & within)
    return F.coalesce(said, F.lit(False))


def hit(risk: Risk, facts: DataFrame) -> DataFrame:
    """Return the uses that a risk hits. ``facts`` has to contain all uses of its clients."""
    such = F.col("kind") == risk.kind
    for name, values in risk.values.items():
        # (Values are booleans or numbers; null means not known.)
        known = F.col(name).isin([value for value in values if value is not None])
        said = known | F.col(name).isNull() if None in values else known
        such = such & F.coalesce(said, F.lit(False))
    if risk.versions:
        such = such & one_of(risk.versions)
    found = facts.where(such)
    match risk.who:
        case Who.ANYBODY:
            return found
        case Who.MEMBER:
            return found.where(_JOINED)
        case Who.OUTSIDER:
            return _without(found, _members(facts), *KEYS, "resource")
        case Who.IN_NO_GROUP:
            return _without(found, _members(facts), *KEYS)


#: The condition of :func:`hadash.governance.client_risks.has_joined`.
_JOINED = "member = 1 OR session_timeout_ms IS NOT NULL"


def _members(facts: DataFrame) -> DataFrame:
    return facts.where(f"kind = 'group' AND ({_JOINED})")


def _without(found: DataFrame, others: DataFrame, *keys: str) -> DataFrame:
    return found.withColumns(key_columns()).join(
        others.withColumns(key_columns()).select(*keys).distinct(), [*keys], "left_anti"
    )


def _literal(numbers: Release) -> Column:
    return F.array(*(F.lit(number) for number in numbers))

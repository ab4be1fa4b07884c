"""The input and the output of rules. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from hadash.governance.catalogue import Code
from hadash.identity.names import MAX_NAME_LENGTH
from spark.schemas import FINDINGS

#: Names that a finding lists, at most; if there are more it also gives their number.
SHOWN = 5


@dataclass(frozen=True)
class Inputs:
    """The observed uses and the current state of a fleet.

    ``facts`` are those that count as use (:data:`spark.schemas.FACTS`); ``listings`` are requests for all
    Topics, which are no use; ``remembered`` are all uses in the facts, however old. ``bindings`` and
    ``applications`` are derived, see
    :mod:`spark.rules.prepared`. The rest are tables of the newest snapshot
        (:data:`hadash.lake.snapshots.TABLES`), except ``controllers`` and ``lag``, which cover a day;
        ``controllers`` also have ``at``, which sorts by time.
    """

    facts: DataFrame
    remembered: DataFrame
    listings: DataFrame
    bindings: DataFrame
    applications: DataFrame
    clusters: DataFrame
    controllers: DataFrame
    brokers: DataFrame
    topics: DataFrame
    partitions: DataFrame
    acls: DataFrame
    own_users: DataFrame
    groups: DataFrame
    members: DataFrame
    pairs: DataFrame
    appids: DataFrame
    instances: DataFrame
    declarations: DataFrame
    documents: DataFrame
    mirrors: DataFrame
    lag: DataFrame


Find = Callable[[Inputs], DataFrame]

#: All rules, by code, in the order of the modules. Importing :mod:`spark.rules.all` fills it.
RULES: dict[Code, Find] = {}


def rule(code: Code) -> Callable[[Find], Find]:
    """Register the decorated function as a rule."""

    def register(find: Find) -> Find:
        if code in RULES:
            raise ValueError(f"There are two rules {code}.")
        RULES[code] = find
        return find

    return register


def finding(
    frame: DataFrame, name: Column | str, appid: Column | str | None = None, /, **evidence: Column | str
) -> DataFrame:
    """Return rows of :data:`spark.schemas.FINDINGS` without the code, from rows that have ``pair``.

    :param name: the name of the thing that the finding is about.
    :param appid: the AppID that it belongs to; ``None`` for none.
    :param evidence: the values of the sentence; lists through :func:`listed`.
    """
    given = {
        "name": name,
        **({} if appid is None else {"appid": appid}),
        **{f"_{k}": v for k, v in evidence.items()},
    }
    made = {key: value for key, value in given.items() if not isinstance(value, str)}
    if made:
        # (Computed columns get names that no column of the frame has.)
        frame = frame.withColumns({f"_finding_{key}": value for key, value in made.items()})
    at = {key: f"`_finding_{key}`" if key in made else f"`{value}`" for key, value in given.items()}
    values = ", ".join(f"'{key}', cast({at[f'_{key}']} AS string)" for key in evidence)
    return frame.selectExpr(
        "pair",
        f"{at.get('appid', _NOBODY)} AS appid",
        f"{_FITTED.format(name=_TEXT.format(value=at['name']))} AS name",
        f"map({values}) AS evidence",
    )


# As SQL: each expression of columns costs Python a dozen calls to the JVM, and forty rules would build it a
# hundred times.
_NOBODY = "''"
_TEXT = "coalesce(cast({value} AS string), '')"
#: A name that fits into the table: a longer one (Topics have up to 249 characters) becomes its beginning and a
#: digest.
_FITTED = (
    f"CASE WHEN length({{name}}) > {MAX_NAME_LENGTH}"
    f" THEN concat(substring({{name}}, 1, {MAX_NAME_LENGTH - 13}), '…', substring(md5({{name}}), 1, 12)) "
    f"ELSE {{name}} END"
)


def findings_of(code: Code, inputs: Inputs) -> DataFrame:
    """Return the findings of one rule (:data:`spark.schemas.FINDINGS`)."""
    columns = (f"'{code.value}' AS code" if name == "code" else name for name in FINDINGS.names)
    return RULES[code](inputs).selectExpr(*columns)


_ORDERED = "array_sort(array_distinct({values}))"
_LISTED = (
    f"CASE WHEN size({_ORDERED}) > {SHOWN}"
    f" THEN concat(array_join(slice({_ORDERED}, 1, {SHOWN}), ', '), ', … (', cast(size({_ORDERED}) AS string), ')')"
    f" ELSE array_join({_ORDERED}, ', ') END"
)


def listed(values: Column | str) -> Column:
    """Return names as a text: the first few in order, and the number of all if there are more."""
    if isinstance(values, str):
        return F.expr(_LISTED.format(values=f"`{values}`"))
    ordered = F.array_sort(F.array_distinct(values))
    shown = F.array_join(F.slice(ordered, 1, SHOWN), ", ")
    more = F.concat(shown, F.lit(", … ("), F.size(ordered).cast("string"), F.lit(")"))
    return F.when(F.size(ordered) > SHOWN, more).otherwise(shown)


def names(column: Column | str) -> Column:
    """Return a group's values as :func:`listed` does."""
    if isinstance(column, str):
        return F.expr(_LISTED.format(values=f"collect_set(`{column}`)"))
    return listed(F.collect_set(column))


def number(value: Column | str) -> Column:
    """Return a number as text, without trailing zeros: 1.5 is "1.5" and 45.0 is "45"."""
    return F.regexp_replace(F.format_string("%.1f", _column(value).cast("double")), r"\.0$", "")


def client() -> Column:
    """Return the client.id for a sentence; a dash for a client without one."""
    return F.when(F.coalesce("client_id", F.lit("")) == "", F.lit("–")).otherwise(F.col("client_id"))


def _column(value: Column | str) -> Column:
    return F.col(value) if isinstance(value, str) else value

"""``sticky`` and ``cooperative-sticky``: members keep their partitions as far as balance allows. Pure.

They differ in two things. ``sticky`` reads a member's claims from its user data, because its partitions are
revoked before it joins. ``cooperative-sticky`` gives no member a partition that another one still has: that
member revokes it first, and joins again.
"""

from __future__ import annotations

from collections.abc import Mapping

from hadash.assignment.claims import NO_GENERATION, Claims, read_claims
from hadash.assignment.constrained import assign_alike
from hadash.assignment.general import assign_different
from hadash.assignment.values import Group, Member, Partition


def assign_sticky(group: Group) -> dict[str, list[Partition]]:
    """Return what each member gets. Raises NotKnown, AssignorFails."""
    if not group.members:
        return {}
    claims = read_claims(group, _of_user_data)
    if claims.alike:
        return assign_alike(claims)[0]
    return {member: list(each) for member, each in assign_different(claims, _of_user_data).items()}


def assign_cooperative(group: Group) -> dict[str, list[Partition]]:
    """Return what each member gets in the first round: partitions that another member still has are in no
    list.

    Raises NotKnown, AssignorFails.
    """
    if not group.members:
        return {}
    claims = read_claims(group, _of_join_group)
    if claims.alike:
        given, transferred = assign_alike(claims)
        return {member: [each for each in mine if each not in transferred] for member, mine in given.items()}
    return _without_withheld(claims, assign_different(claims, _of_join_group))


def _of_user_data(member: Member) -> int:
    return NO_GENERATION if member.user_data_generation is None else member.user_data_generation


def _of_join_group(member: Member) -> int:
    return _of_user_data(member) if member.generation is None else member.generation


def _without_withheld(claims: Claims, given: Mapping[str, set[Partition]]) -> dict[str, list[Partition]]:
    """Return the assignment without the partitions that their new owner does not claim and that another
    member claims but does not get, whether that claim holds or not.
    """
    claimed = {member.id: set(member.owned) for member in claims.members}
    given_up = {partition for member, mine in claimed.items() for partition in mine - given[member]}
    return {member: list(each - (given_up - claimed[member])) for member, each in given.items()}

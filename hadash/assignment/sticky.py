"""``sticky`` and ``cooperative-sticky``: members keep what they have as far as balance allows. Pure.

They differ in two things. What ``sticky`` takes a member's claims for is in its user data, for its partitions
are revoked before it joins; and ``cooperative-sticky`` gives nobody a partition that another one still has:
that one gives it up first, and joins again.
"""

from __future__ import annotations

from collections.abc import Mapping

from hadash.assignment.claims import NO_GENERATION, Claims, read_claims
from hadash.assignment.constrained import assign_alike
from hadash.assignment.general import assign_different
from hadash.assignment.values import Group, Member, Partition


def assign_sticky(group: Group) -> dict[str, list[Partition]]:
    """Raises NotKnown, AssignorFails."""
    if not group.members:
        return {}
    claims = read_claims(group, _of_user_data)
    if claims.alike:
        return assign_alike(claims)[0]
    return {member: list(each) for member, each in assign_different(claims, _of_user_data).items()}


def assign_cooperative(group: Group) -> dict[str, list[Partition]]:
    """What each member gets at once: what others still have is in nobody's list. Raises NotKnown, AssignorFails."""
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
    """Without what a member does not claim, and somebody else does who does not get it, whether that claim
    holds or not.
    """
    claimed = {member.id: set(member.owned) for member in claims.members}
    given_up = {partition for member, mine in claimed.items() for partition in mine - given[member]}
    return {member: list(each - (given_up - claimed[member])) for member, each in given.items()}

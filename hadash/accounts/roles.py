"""Roles and permissions. The permissions of each role are defined only here, and all code asks :func:`may`.

A role is a Django group. Members of the group have the role on all pairs; a :class:`PairRole` gives it on one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import Group, Permission, User
from django.db.models import Q, QuerySet

from hadash.accounts.models import PairRole
from hadash.inventory.models import Pair

VIEW = "inventory.view_pair"
VIEW_AUDIT = "audit.view_entry"
REGISTER = "inventory.add_instanceid"
REQUEST = "switching.request_switch"
OPERATE = "switching.operate_switch"
FORCE = "switching.force_switch"
DECIDE = "switching.decide_switch"
EXCLUDE_GATEWAY = "switching.exclude_gateway"
VIEW_VALUES = "auditors.view_values"
CHANGE_POLICY = "switching.change_policy"
MANAGE_PEOPLE = "accounts.manage_people"
ACCEPT = "governance.add_acceptance"
CHANGE_APPID = "inventory.change_appid"
RUN_JOB = "pipeline.run_job"
CHANGE_SCHEDULE = "pipeline.change_schedule"
MANAGE_REPORTS = "reports.manage_reports"

#: Permissions that concern all pairs: a role on one pair does not give them.
ON_ALL_PAIRS = frozenset(
    {VIEW_AUDIT, EXCLUDE_GATEWAY, MANAGE_PEOPLE, RUN_JOB, CHANGE_SCHEDULE, MANAGE_REPORTS}
)

#: role → permissions, the narrowest role first. An approver may get another role too: four eyes is a rule about one
#: switch, not about people.
ROLES: dict[str, tuple[str, ...]] = {
    "viewer": (VIEW, VIEW_AUDIT),
    "requester": (VIEW, VIEW_AUDIT, REQUEST, REGISTER),
    "approver": (VIEW, VIEW_AUDIT, DECIDE),
    "operator": (
        VIEW,
        VIEW_AUDIT,
        REQUEST,
        REGISTER,
        OPERATE,
        EXCLUDE_GATEWAY,
        ACCEPT,
        CHANGE_APPID,
        RUN_JOB,
    ),
    "rescuer": (VIEW, VIEW_AUDIT, REQUEST, FORCE),
    "administrator": (
        VIEW,
        VIEW_AUDIT,
        VIEW_VALUES,
        CHANGE_POLICY,
        MANAGE_PEOPLE,
        ACCEPT,
        CHANGE_APPID,
        RUN_JOB,
        CHANGE_SCHEDULE,
        MANAGE_REPORTS,
    ),
}

#: scope of an API token → permissions, as far as the token's owner has them.
SCOPES: dict[str, tuple[str, ...]] = {
    "read": (VIEW, VIEW_AUDIT),
    "request": (REQUEST, REGISTER),
    "decide": (DECIDE,),
    "operate": (OPERATE, EXCLUDE_GATEWAY, ACCEPT, CHANGE_APPID, RUN_JOB),
    "force": (FORCE,),
    "administer": (VIEW_VALUES, CHANGE_POLICY, MANAGE_PEOPLE, CHANGE_SCHEDULE, MANAGE_REPORTS),
}


@dataclass(frozen=True, slots=True)
class Limit:
    """The most that a token lets its owner do. ``pair`` is the primary key of a pair; ``None`` for all."""

    permissions: frozenset[str]
    pair: int | None = None

    @classmethod
    def of(cls, scopes: Iterable[str], pair: int | None) -> Limit:
        """Return the limit of a token with these scopes. ``read`` is always included: no request works without it."""
        names = {"read", *scopes}
        return cls(frozenset(p for name in names for p in SCOPES.get(name, ())), pair)

    def allows(self, permission: str, pair: Pair | None) -> bool:
        """Whether the token may use ``permission`` on ``pair``; ``None`` for what concerns all pairs."""
        return permission in self.permissions and (self.pair is None or (pair and pair.pk) == self.pair)


def limit_of(user: Any) -> Limit | None:
    """Return the limit of the token that ``user`` came with; ``None`` for a person at a browser."""
    limit: Limit | None = getattr(user, "token_limit", None)
    return limit


def may(user: Any, permission: str, pair: Pair | None = None) -> bool:
    """Whether ``user`` has ``permission`` on ``pair``; ``None`` for what concerns all pairs."""
    limit = limit_of(user)
    if limit is not None and not limit.allows(permission, pair):
        return False
    if user.has_perm(permission):
        return True
    return pair is not None and pair.pk in _pairs_of(user, permission)


def may_steer(user: Any, pair: Pair) -> bool:
    """Whether ``user`` may request switches of the pair or decide on them: then also stop and comment on them."""
    return may(user, REQUEST, pair) or may(user, DECIDE, pair)


def may_somewhere(user: Any, permission: str) -> bool:
    """Whether ``user`` has ``permission`` on at least one pair, so that a button for it makes sense.

    Permissions that concern all pairs (:data:`ON_ALL_PAIRS`) count only when held on all.
    """
    if permission in ON_ALL_PAIRS:
        return may(user, permission)
    limit = limit_of(user)
    if limit is not None and permission not in limit.permissions:
        return False
    return bool(user.has_perm(permission) or _pairs_of(user, permission))


def on_pairs(user: Any, permission: str = VIEW, field: str = "pair") -> Q:
    """Return the condition that a row belongs to a pair on which ``user`` has ``permission``.

    It is empty for a user who has it on all pairs, so that the database need not look at the pair of every row. Combine
    it with ``&`` only: ``condition | Q()`` is the condition.

    :param field: the row's foreign key of the pair; ``pk`` for the pairs themselves.
    """
    limit = limit_of(user)
    if limit is not None and permission not in limit.permissions:
        return Q(**{f"{field}__in": []})
    only = None if limit is None else limit.pair
    if user.has_perm(permission):
        return Q() if only is None else Q(**{field: only})
    return Q(**{f"{field}__in": {pair for pair in _pairs_of(user, permission) if only in (None, pair)}})


def pairs_where(user: Any, permission: str = VIEW) -> QuerySet[Pair]:
    """Return the pairs on which ``user`` has ``permission``."""
    return Pair.objects.filter(on_pairs(user, permission, "pk"))


def _pairs_of(user: Any, permission: str) -> set[int]:
    """Return the keys of the pairs on which a role gives ``permission``. Cached on the user object, as in Django."""
    if not user.is_active:
        return set()
    held: dict[str, set[int]] | None = getattr(user, "_pair_permissions", None)
    if held is None:
        held = {}
        rows = PairRole.objects.filter(user_id=user.pk).values_list(
            "pair_id", "group__permissions__content_type__app_label", "group__permissions__codename"
        )
        for pair, app, codename in rows:
            held.setdefault(f"{app}.{codename}", set()).add(pair)
        user._pair_permissions = held
    return held.get(permission, set())


def people_who(permission: str, pair: Pair | None = None) -> QuerySet[User]:
    """Return the active people who have ``permission`` on ``pair`` (``None``: on all pairs)."""
    app, codename = permission.split(".")
    named = {"codename": codename, "content_type__app_label": app}
    by_group = Q(**{f"groups__permissions__{name}": value for name, value in named.items()})
    by_user = Q(**{f"user_permissions__{name}": value for name, value in named.items()})
    wanted = by_group | by_user | Q(is_superuser=True)
    if pair is not None:
        on_pair = {f"group__permissions__{name}": value for name, value in named.items()}
        wanted |= Q(pk__in=PairRole.objects.filter(pair=pair, **on_pair).values("user"))
    return User.objects.filter(wanted, is_active=True).distinct()


def ensure_roles() -> None:
    """Create the groups and give them exactly their permissions."""
    for role, names in ROLES.items():
        group, _ = Group.objects.get_or_create(name=role)
        wanted = []
        for name in names:
            app, codename = name.split(".")
            wanted.append(Permission.objects.get(content_type__app_label=app, codename=codename))
        group.permissions.set(wanted)


def ensure_user(
    username: str, password: str, role: str, full_name: str = "", pair: Pair | None = None
) -> User:
    """Create a user with exactly one role, on all pairs or on one. An existing user keeps the password."""
    user, created = User.objects.get_or_create(username=username)
    first, _, last = full_name.partition(" ")
    if full_name:
        user.first_name, user.last_name = first, last
    if created:
        user.set_password(password)
    user.save()
    group = Group.objects.get(name=role)
    user.groups.set([group] if pair is None else [])
    PairRole.objects.filter(user=user).delete()
    if pair is not None:
        PairRole.objects.create(user=user, group=group, pair=pair)
    return user

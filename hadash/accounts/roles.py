"""Roles as Django groups. The permissions that decide stand here and nowhere else."""

from __future__ import annotations

from django.contrib.auth.models import Group, Permission, User

#: role → permissions. An approver may request too: four eyes is a rule about one switch, not about people.
ROLES: dict[str, tuple[str, ...]] = {
    "viewer": (),
    "operator": ("switching.request_switch", "switching.exclude_gateway", "inventory.add_instanceid"),
    "approver": ("switching.decide_switch",),
    "administrator": ("switching.change_policy",),
}


def ensure_roles() -> None:
    """Create the groups and give them exactly their permissions."""
    for role, names in ROLES.items():
        group, _ = Group.objects.get_or_create(name=role)
        wanted = []
        for name in names:
            app, codename = name.split(".")
            wanted.append(Permission.objects.get(content_type__app_label=app, codename=codename))
        group.permissions.set(wanted)


def ensure_user(username: str, password: str, role: str, full_name: str = "") -> User:
    """A user with one role; an existing one keeps the password."""
    user, created = User.objects.get_or_create(username=username)
    first, _, last = full_name.partition(" ")
    if full_name:
        user.first_name, user.last_name = first, last
    if created:
        user.set_password(password)
    user.save()
    user.groups.set([Group.objects.get(name=role)])
    return user

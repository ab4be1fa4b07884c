"""Finds an ordinary user for PostgreSQL, which refuses to run as root, and gives that user access to its files."""

from __future__ import annotations

import os
import pwd
import stat
from pathlib import Path

from hadash_sandbox.errors import SandboxError
from hadash_sandbox.service import Log

# Existing accounts only: a demo adds no users to the system.
_CANDIDATES = ("postgres", "pgserver", "nobody")


def ordinary_user() -> pwd.struct_passwd | None:
    """The account to run PostgreSQL as; None if this process is not root and needs no other.

    :raises SandboxError: this process is root, and the system has no suitable account.
    """
    if os.geteuid() != 0:
        return None
    for name in _CANDIDATES:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        if entry.pw_uid != 0:
            return entry
    raise SandboxError(
        "PostgreSQL cannot run as root and this system has none of the users "
        f"{', '.join(_CANDIDATES)}. Run hadash as an ordinary user."
    )


def give(path: Path, user: pwd.struct_passwd) -> None:
    """Make the user the owner of `path`, a folder that is empty or already the user's."""
    if path.stat().st_uid != user.pw_uid:
        os.chown(path, user.pw_uid, user.pw_gid)


def open_way(path: Path, user: pwd.struct_passwd, log: Log) -> None:
    """Let the user pass through the folders above `path`.

    Only "x for others" is added, so that nobody can list the folders, and each change is logged: a home folder may be
    among them.
    """
    for folder in path.resolve().parents:
        mode = folder.stat()
        if mode.st_uid != user.pw_uid and not mode.st_mode & stat.S_IXOTH:
            folder.chmod(stat.S_IMODE(mode.st_mode) | stat.S_IXOTH)
            log(f"Made {folder} passable (o+x): PostgreSQL runs as user {user.pw_name}")

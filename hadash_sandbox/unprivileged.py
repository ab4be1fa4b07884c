"""PostgreSQL refuses to run as root: lend it an ordinary user and let that user reach its files."""

from __future__ import annotations

import os
import pwd
import stat
from pathlib import Path

from hadash_sandbox.errors import SandboxError
from hadash_sandbox.service import Log

# Existing accounts only: a demo does not add users to somebody's system.
_CANDIDATES = ("postgres", "pgserver", "nobody")


def ordinary_user() -> pwd.struct_passwd | None:
    """The account to run as, or None if we are not root and need no other."""
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
    """Make `path` (a folder that is still empty, or already the user's) the user's own."""
    if path.stat().st_uid != user.pw_uid:
        os.chown(path, user.pw_uid, user.pw_gid)


def open_way(path: Path, user: pwd.struct_passwd, log: Log) -> None:
    """Let the user pass through the folders above `path`.

    Only "x for others" is added, so that nobody can list them, and it is said aloud: a home folder may be
    among them.
    """
    for folder in path.resolve().parents:
        mode = folder.stat()
        if mode.st_uid != user.pw_uid and not mode.st_mode & stat.S_IXOTH:
            folder.chmod(stat.S_IMODE(mode.st_mode) | stat.S_IXOTH)
            log(f"Made {folder} passable (o+x): PostgreSQL runs as user {user.pw_name}")

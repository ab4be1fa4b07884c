"""Wheels of this checkout, and environments with one: what operators install.

Their dependencies are those of the environment of these tests: installing 700 MB again would test pip.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
UV = str(Path(sys.executable).with_name("uv"))
#: What a wheel is built from.
SOURCES = ("hadash", "tasks", "spark", "templates", "static", "pyproject.toml", "README.md", "LICENSE")

_MIGRATION = """
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("switching", "{last}")]
    operations = [migrations.AddField("switch", "of_tomorrow", models.TextField(null=True, db_index=True))]
"""


def build(folder: Path, source: Path = ROOT) -> Path:
    command = [UV, "build", "--wheel", "--no-build-isolation", "--python", sys.executable, "-o", str(folder)]
    done = subprocess.run([*command, str(source)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (found,) = folder.glob("*.whl")
    return found


def tomorrow(folder: Path, version: str) -> Path:
    """The sources of a later version: the same, with another number and a migration that adds a column with
    an index.
    """
    for name in SOURCES:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__", "sandbox"))
        else:
            shutil.copy(source, folder / name)
    own = folder / "hadash" / "__init__.py"
    text, count = re.subn(r'^VERSION = ".*"$', f'VERSION = "{version}"', own.read_text(), flags=re.MULTILINE)
    assert count == 1
    own.write_text(text)
    migrations = folder / "hadash" / "switching" / "migrations"
    last = max(path.stem for path in migrations.glob("0*.py"))
    (migrations / "9999_of_tomorrow.py").write_text(_MIGRATION.format(last=last))
    return folder


def install(wheel: Path, environment: Path) -> Path:
    """Into a new environment; its ``site-packages``."""
    for command in (
        [UV, "venv", "-q", "--python", sys.executable, str(environment)],
        [
            UV,
            "pip",
            "install",
            "-q",
            "--no-deps",
            "--python",
            str(environment / "bin" / "python"),
            str(wheel),
        ],
    ):
        subprocess.run(command, check=True)
    (packages,) = (environment / "lib").glob("python*/site-packages")
    return packages


def lend_dependencies(packages: Path) -> None:
    """An environment finds those of this one, and not the checkout: who follows a ``.pth`` file does not read
    the others there.
    """
    (packages / "dependencies.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")

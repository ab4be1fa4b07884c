"""Every process that hands work over uses the application of ``tasks.app``, whatever it has imported before, in every
thread.

Celery makes an application without a broker when something asks for one before ours is the default. Each test starts
a process, because an import cannot be undone.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
REDIS = "redis://redis.test:6390/7"

#: How processes begin, each up to where it hands something over.
BEGINNINGS = {
    "the web server": "import hadash.asgi",
    "the web server, whose page shows schedules": """
import hadash.asgi
from hadash.pipeline import schedules
schedules.cron.following("* * * * *", datetime.now(UTC))
""",
    "a script that reads schedules before Django is set up": """
from hadash.pipeline import cron
cron.following("* * * * *", datetime.now(UTC))
django.setup()
""",
    "manage.py": """
from django.core.management import execute_from_command_line
execute_from_command_line(["manage.py", "check"])
""",
    "a worker": "import tasks; django.setup()",
}

#: A request is answered in a thread of its own, as a rule not in the one that has imported the task.
HAND_OVER = """
import threading

def look():
    from tasks import batches, binding, pipeline, retirement, switching, watching
    for task in (switching.run_stage, switching.look_for_unreplicated, batches.advance, binding.apply_change,
                 pipeline.run, retirement.remove, watching.trim):
        print("BROKER", task.name, task.app.conf.broker_url)
    from hadash.switching.handovers import handing_over
    print("BROKER", "by-name", handing_over.current_app.conf.broker_url)

look()
thread = threading.Thread(target=look)
thread.start()
thread.join()
"""


@pytest.mark.parametrize("beginning", BEGINNINGS.values(), ids=[*BEGINNINGS])
def test_every_task_is_handed_to_redis(beginning: str) -> None:
    program = "import django\nfrom datetime import UTC, datetime\n" + beginning + HAND_OVER
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "hadash.settings",
        "REDIS_URL": REDIS,
        "HADASH_SECRET_KEY": "a key of its own: Redis is elsewhere",
        "HADASH_DEBUG": "1",
        "PYTHONPATH": str(ROOT),
    }
    ended = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env=environment,
        cwd=ROOT,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    brokers = [line.split()[1:] for line in ended.stdout.splitlines() if line.startswith("BROKER")]
    assert len(brokers) == 16
    assert {broker for _task, broker in brokers} == {REDIS}, brokers

"""A thousand mails while workers are killed and the mail server is started again: none is sent twice, and none
is lost without a word.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.conf import settings
from django.utils import timezone
from support.environment import database_url
from support.smtp import MailServer, mail_server
from support.waiting import eventually

from hadash.outbox import services
from hadash.outbox.models import Delivery
from hadash.outbox.services import Recipient
from hadash.outbox.states import SETTLED, State

pytestmark = [pytest.mark.stack, pytest.mark.django_db(transaction=True), pytest.mark.in_turn]

MAILS, KILLS, RESTARTS = 1000, 8, 3
#: Seconds for which a claim holds here: what a killed worker has left is free soon.
CLAIM_SECONDS = 2


@contextmanager
def worker(mail: MailServer) -> Iterator[subprocess.Popen[bytes]]:
    """A worker of the queue ``outbox``, as in production; killed without mercy at the end."""
    environment = os.environ | {
        "DATABASE_URL": database_url(),
        "HADASH_SMTP_HOST": "127.0.0.1",
        "HADASH_SMTP_PORT": str(mail.port),
        "HADASH_SMTP_SECURITY": "none",
        "HADASH_OUTBOX_CLAIM_SECONDS": str(CLAIM_SECONDS),
        "HADASH_OUTBOX_AWAY_SECONDS": "0.5",
        "HADASH_SMTP_TIMEOUT_SECONDS": "5",
        "HADASH_SMTP_TAKING_SECONDS": "5",
        "HADASH_MAIL_RETRY_SECONDS": ",".join(["0.5"] * 50),
    }
    command = [
        sys.executable,
        "-m",
        "celery",
        "-A",
        "tasks",
        "worker",
        "-Q",
        "outbox",
        "--pool",
        "threads",
        "--concurrency",
        "2",
    ]
    process = subprocess.Popen(
        [*command, "-l", "WARNING", "-n", "outbox@%h"], cwd=settings.BASE_DIR, env=environment
    )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()


def test_none_is_sent_twice_and_none_is_lost() -> None:
    from tasks.outbox import send

    chance = random.Random(7)
    content = services.keep_content("main: 3 risks", "Text", "<p>Text</p>")
    names = [f"reader-{number}@example.org" for number in range(MAILS)]
    services.queue(content, [Recipient(name, f"1 to {name}") for name in names], due_at=timezone.now())

    def at_least(count: int, mail: MailServer) -> bool:
        send.delay()  # as beat does, again and again
        return len(mail.taken) >= count or not Delivery.objects.exclude(state__in=SETTLED).exists()

    moments = sorted(chance.sample(range(20, MAILS - 50), KILLS + RESTARTS))
    restarts = set(chance.sample(moments, RESTARTS))
    with mail_server() as mail:
        left = list(moments)
        while left:
            with worker(mail):
                while left:
                    moment = left.pop(0)
                    eventually(
                        lambda moment=moment: at_least(moment, mail),
                        f"{moment} mails",
                        patience=60,
                        every=0.05,
                    )
                    if moment not in restarts:
                        break  # the worker is killed
                    mail.stop()
                    mail.start()
        with worker(mail):
            eventually(lambda: at_least(MAILS + 1, mail), "all have come to an end", patience=120, every=0.2)
    arrived = Counter(mail.recipients())
    ended = {address: State(state) for address, state in Delivery.objects.values_list("address", "state")}
    untold = [address for address, state in ended.items() if state is State.UNCERTAIN]
    print(
        f"{MAILS} mails, {KILLS} workers killed, {RESTARTS} restarts of the server: "
        f"{Counter(ended.values())}; of those that are not known "
        f"{sum(arrived[address] for address in untold)} have arrived"
    )
    assert max(arrived.values()) == 1, "none was sent twice"
    assert set(ended.values()) <= {State.ACCEPTED, State.UNCERTAIN}
    assert [a for a, state in ended.items() if state is State.ACCEPTED and not arrived[a]] == [], (
        "none was lost"
    )
    assert len(untold) <= KILLS + RESTARTS, "at most one for each that died"

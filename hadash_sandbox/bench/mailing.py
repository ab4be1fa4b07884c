"""``python -m hadash_sandbox.bench.mailing N``: makes and sends the mail of a schedule with N readers.

It prints ``name=value`` for each figure.
"""

from __future__ import annotations

import sys
import time

import django


def main(readers: int) -> None:
    django.setup()
    from django.conf import settings
    from django.contrib.auth.models import Group, User
    from django.utils import timezone

    from hadash.accounts.roles import ensure_roles
    from hadash.inventory.models import Cluster, Pair
    from hadash.outbox import configured, sending
    from hadash.outbox.models import Delivery, Transport
    from hadash.outbox.smtp import Connection
    from hadash.outbox.states import State
    from hadash.reports import issues
    from hadash.reports.models import Kind, ReportIssue, ReportRecipient, ReportSchedule
    from hadash_sandbox.bench.mail import measured, memory_mib

    ensure_roles()
    east, west = (Cluster.objects.create(name=name, number=n) for n, name in enumerate(("east", "west"), 1))
    Pair.objects.create(name="main", first=east, second=west, default=east)
    people = User.objects.bulk_create(
        User(username=f"reader-{number}", email=f"reader-{number}@example.org") for number in range(readers)
    )
    viewer = Group.objects.get(name="viewer")
    User.groups.through.objects.bulk_create(
        User.groups.through(user_id=user.pk, group_id=viewer.pk) for user in people
    )
    schedule = ReportSchedule.objects.create(name="Everybody", kind=Kind.RISKS, cron="0 7 * * *")
    ReportRecipient.objects.create(schedule=schedule, way=ReportRecipient.Way.ROLE, value="viewer")
    ReportIssue.objects.create(schedule=schedule, due_at=timezone.now())
    before = memory_mib()

    began = time.perf_counter()
    issues.make_waiting(timezone.now())
    made = measured(began)
    server = configured.mail_server()
    assert server is not None
    began = time.perf_counter()
    with Connection(server, settings.SMTP_MESSAGES_EACH) as connection:
        carrier = sending.MailCarrier(connection)
        sending.carry_due(carrier, [Transport.MAIL], configured.mail_retries(), timezone.now)
    sent = measured(began)
    figures = {
        "make_s": made,
        "send_s": sent,
        "connections": connection.opened,
        "accepted": Delivery.objects.filter(state=State.ACCEPTED).count(),
        "rss_before_mib": before,
        "rss_mib": memory_mib(),
    }
    print(" ".join(f"{name}={value}" for name, value in figures.items()))


if __name__ == "__main__":
    main(int(sys.argv[1]))

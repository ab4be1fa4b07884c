"""The credentials of clusters are nowhere to be read."""

from __future__ import annotations

import pytest
from django.db import connection

from hadash.inventory.models import Cluster

pytestmark = [pytest.mark.stack, pytest.mark.django_db]


def test_in_the_database_they_are_encrypted() -> None:
    Cluster.objects.create(
        name="east",
        number=1,
        admin_password="open sesame",
        mirror_password="open sesame",
        admin_username="ann",
    )
    with connection.cursor() as cursor:
        cursor.execute("SELECT admin_password, mirror_password, admin_username FROM inventory_cluster")
        (admin, mirror, username) = cursor.fetchone()
    assert "sesame" not in f"{admin} {mirror}"
    assert admin != mirror, "the same password twice does not look the same"
    assert username == "ann"
    assert Cluster.objects.get().admin_password == "open sesame"

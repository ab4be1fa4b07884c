"""Why a cluster, a mirror or a rebuild is not well, as workers stored it: in the language of who reads it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from django.core import serializers
from django.urls import reverse

from dashboard.parts import signed_in
from hadash.governance.catalogue import Code
from hadash.governance.models.findings import Finding
from hadash.governance.models.runs import Run
from hadash.inventory.models import Cluster
from hadash.mirroring.comparing import fault_of
from hadash.mirroring.models import Mirror
from hadash.presentation.localized import sentence
from hadash.sentences import NOTHING, Sentence, joined, read_back, say, written
from spark.publishing.faults import DIED, fault_of_run

pytestmark = [pytest.mark.stack, pytest.mark.django_db]

NO_CONNECTOR = {"en": "Connect knows no connector for it.", "zh-hans": "Connect 中没有它的连接器。"}
AWAY = say("Cluster %(cluster)s does not answer.", cluster="east")
LATER = say("This mirror is looked at as soon as that is over.")


class TestTheField:
    def test_a_sentence_comes_back_as_it_was(self, fleet: Any) -> None:
        said = joined(AWAY, LATER)
        Mirror.objects.update(fault=said)
        mirror = Mirror.objects.first()
        assert mirror is not None and mirror.fault == said
        assert [*Mirror.objects.values_list("fault", flat=True)] == [said]

    def test_none_is_nothing_and_can_be_asked_for(self, fleet: Any) -> None:
        Mirror.objects.update(fault=NOTHING)
        mirror = Mirror.objects.get(fault=NOTHING)
        assert mirror.fault == NOTHING and not mirror.fault

    @pytest.mark.parametrize("said", [NOTHING, AWAY, ""])
    def test_a_row_with_it_is_valid_and_can_be_written_to_a_file(self, fleet: Any, said: Any) -> None:
        cluster = Cluster.objects.get(name="east")
        cluster.fault = said
        cluster.full_clean()
        cluster.save()
        cluster.refresh_from_db()
        written = serializers.serialize("json", [cluster])
        (read,) = serializers.deserialize("json", written)
        assert read.object.fault == cluster.fault == Sentence.from_json(said.to_json() if said else "")

    def test_a_servers_own_words_are_kept(self, fleet: Any) -> None:
        trace = "org.apache.kafka: no such topic %s\n\tat …"
        Mirror.objects.update(fault=trace)
        assert str(Mirror.objects.get().fault) == trace
        assert sentence(Mirror.objects.get().fault) == trace


@pytest.mark.parametrize("language", NO_CONNECTOR)
def test_pages_of_mirrors(people: SimpleNamespace, engines: Any, fleet: Any, language: str) -> None:
    Mirror.objects.update(fault=say(NO_CONNECTOR["en"]), state="stopped")
    client = signed_in(people.olga, language)
    for address in (reverse("mirrors"), reverse("mirror", args=["main", Mirror.objects.get().name])):
        assert NO_CONNECTOR[language] in client.get(address).content.decode(), address


def test_pages_of_clusters(people: SimpleNamespace, engines: Any, fleet: Any) -> None:
    why = say("Cluster %(cluster)s %(what)s", cluster="east", what=say("could not list its groups"))
    Cluster.objects.filter(name="east").update(fault=why)
    page = signed_in(people.olga, "zh-hans").get(reverse("clusters")).content.decode()
    assert "could not list its groups" not in page
    with_english = signed_in(people.olga).get(reverse("clusters")).content.decode()
    assert "Cluster east could not list its groups" in with_english


def test_parts_that_differ_are_named_in_the_language_too(fleet: Any) -> None:
    from django.utils.translation import override

    mirror = Mirror.objects.get()
    differs = {"topic": "orders", "partition": 0, "first": 3, "last": 9, "count": 2, "since": "2026-11-28"}
    mirror.comparison = {"differences": [{**differs, "kind": "headers"}, {**differs, "kind": "time"}]}
    fault = Sentence.from_json(fault_of(mirror).to_json())
    assert "differ from those on east: headers, times, between offsets 3 and 9 of east." in str(fault)
    with override("zh-hans"):
        assert "消息头" in sentence(fault) and "headers" not in sentence(fault)


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_the_page_of_a_job_that_has_failed(people: SimpleNamespace, engines: Any, language: str) -> None:
    run = Run.objects.create(job="risk", state="failed", fault=DIED)
    client = signed_in(people.olga, language)
    says = {"en": DIED.text, "zh-hans": "执行它的进程已退出，且没有留下说明。"}[language]
    assert says in client.get(reverse("run", args=[run.pk])).content.decode()
    assert client.get(f"/api/v1/runs/{run.pk}/").json()["fault"] == says


def test_another_programs_account_has_no_stack_of_java() -> None:
    spark = RuntimeError("Path does not exist: file:/lake\n\tat org.apache.spark.sql.…\nJVM stacktrace …")
    assert str(fault_of_run(spark)) == "Path does not exist: file:/lake"
    assert str(fault_of_run(KeyError())) == "KeyError"


class TestWithinTheLake:
    """Its tables hold texts."""

    @pytest.mark.parametrize("said", [NOTHING, AWAY, joined(AWAY, LATER)])
    def test_a_sentence_comes_back(self, said: Sentence) -> None:
        assert read_back(written(said)) == said

    @pytest.mark.parametrize("text", ["It does not answer.", "12", "{", '["a"]'])
    def test_what_an_earlier_snapshot_says_is_kept(self, text: str) -> None:
        assert str(read_back(text)) == text

    def test_why_a_mirror_is_stopped(self, people: SimpleNamespace, engines: Any, fleet: Any) -> None:
        run = Run.objects.create(job="risk", state="published")
        found = Finding.objects.create(
            pair="main", code=Code.STALLED, weight=9, name="shop", last_run=run.pk, first_at=run.due_at,
            opened_at=run.due_at,
            evidence={"mirror": "shop", "state": "stopped", "later": "9", "minutes": "5",
                      "why": written(say(NO_CONNECTOR["en"]))},
        )  # fmt: skip
        for language, says in NO_CONNECTOR.items():
            client = signed_in(people.olga, language)
            assert says in client.get(reverse("finding", args=[found.pk])).content.decode()
            shown = client.get(f"/api/v1/findings/{found.pk}/").json()
            assert shown["evidence"]["why"] == says and says in shown["sentence"]
            state = {"en": "is stopped", "zh-hans": "已停止"}[language]
            assert shown["evidence"]["state"] == "stopped" and state in shown["sentence"], shown["sentence"]

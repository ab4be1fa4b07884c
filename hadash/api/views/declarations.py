"""Handlers for declared relations, beside what was seen: by AppID, and as a file for a pair."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers as s
from rest_framework.request import Request
from rest_framework.response import Response

from hadash.api.fields import Text
from hadash.api.idempotency import idempotent
from hadash.api.problems import Problem
from hadash.api.serializers import common as serializers
from hadash.api.views.common import KEY, PAGES, PagedView, View, address_of, problems, the_appid, the_pair
from hadash.identity.names import MAX_NAME_LENGTH
from hadash.inventory import declarations
from hadash.inventory.compared import MOST_COUNTED, Compared, First
from hadash.inventory.declarations import Declared, Import
from hadash.inventory.differences import Difference, State
from hadash.inventory.models import Declaration, Pair
from hadash.inventory.relations import KINDS, Relation
from hadash.inventory.relations_csv import MAX_BYTES, Fault
from hadash.presentation import declared
from hadash.presentation.localized import sentence
from hadash.sentences import Sentence, say

#: Most faults of a file in one answer.
MAX_FAULTS = 100


# -- shapes --------------------------------------------------------------------------------------------------------


class RelationSerializer(s.Serializer):
    """One use of a Topic or a consumer group, by an InstanceID or by the AppID as a whole."""

    appid = Text()
    instance_id = Text(
        allow_blank=True, help_text="Empty for the AppID as a whole, or a client without a client.id."
    )
    kind = s.ChoiceField(KINDS)
    resource = Text(help_text="The Topic; for kind group the consumer group.")


class DifferenceSerializer(RelationSerializer):
    state = s.ChoiceField(
        [state.value for state in State],
        help_text="undeclared: seen, not declared; unseen: declared, never seen.",
    )
    last_seen = s.DateTimeField(allow_null=True)
    id = s.IntegerField(allow_null=True, help_text="Of the declaration; null for what was only seen.")
    note = Text(allow_blank=True)
    source = Text(allow_blank=True, help_text="hand, import or access; empty for what was only seen.")
    declared_by = Text(allow_null=True)
    declared_at = s.DateTimeField(allow_null=True)


class DeclareRequest(s.Serializer):
    """Declares every Topic with every kind of ``kinds``, and every group."""

    instance_id = Text(
        max_length=MAX_NAME_LENGTH,
        required=False,
        default="",
        allow_blank=True,
        help_text="Empty for the AppID as a whole.",
    )
    topics = s.ListField(
        child=Text(max_length=serializers.MAX_RESOURCE),
        max_length=serializers.MAX_TOPICS,
        required=False,
        default=list,
    )
    kinds = s.ListField(
        child=s.ChoiceField(["produce", "consume"]), max_length=2, required=False, default=list
    )
    groups = s.ListField(
        child=Text(max_length=serializers.MAX_RESOURCE),
        max_length=serializers.MAX_TOPICS,
        required=False,
        default=list,
    )
    note = Text(max_length=serializers.MAX_TEXT, required=False, default="", allow_blank=True)
    each = s.BooleanField(default=False, help_text="Every Topic gets a new InstanceID of its own.")


class SeenSerializer(s.Serializer):
    instance_id = Text(max_length=MAX_NAME_LENGTH, allow_blank=True)
    kind = s.ChoiceField(KINDS)
    resource = Text(max_length=serializers.MAX_RESOURCE)


class AdoptRequest(s.Serializer):
    relations = SeenSerializer(
        many=True, required=False, help_text="Which of what was seen; without it all that is not declared."
    )
    whole = s.BooleanField(default=False, help_text="Of the AppID as a whole, instead of each client.")


class DeclaredSerializer(s.Serializer):
    added = RelationSerializer(many=True)
    registered = s.ListField(child=Text(), help_text="InstanceIDs that were registered with it.")
    left = s.ListField(child=Text(), help_text="Why some of it cannot be declared.")


class ImportRequest(s.Serializer):
    csv = Text(max_length=MAX_BYTES, trim_whitespace=False, help_text="The file of docs/declarations.md.")
    whole = s.BooleanField(
        default=False,
        help_text="It says all there is about the AppIDs that it names: what it leaves out is withdrawn.",
    )
    digest = Text(
        max_length=100,
        required=False,
        default="",
        allow_blank=True,
        help_text="Of the differences that were looked at: they are made so. Without it nothing is changed.",
    )


class NotedSerializer(RelationSerializer):
    note = Text(allow_blank=True)


class InstanceNameSerializer(s.Serializer):
    appid = Text()
    instance_id = Text()


class ImportSerializer(s.Serializer):
    done = s.BooleanField(help_text="False for a dry run.")
    digest = Text(help_text="Send it with the same file to make it so.")
    added = NotedSerializer(many=True)
    noted = NotedSerializer(many=True, help_text="Declared already, with another note.")
    withdrawn = RelationSerializer(many=True)
    registers = InstanceNameSerializer(many=True, help_text="InstanceIDs that are registered with it.")
    same = s.IntegerField(help_text="How many are declared as the file says.")


class FileSerializer(s.Serializer):
    csv = Text(help_text="An export that is imported changes nothing.")


class Filters(s.Serializer):
    """``?q=shop&state=undeclared``."""

    q = Text(max_length=200, required=False, default="", help_text="A part of the AppIDs' names.")
    state = s.ChoiceField([state.value for state in State], required=False, default="")


class ListQuery(Filters):
    appid = Text(max_length=MAX_NAME_LENGTH, required=False, default="", help_text="The exact name of one.")


# -- one AppID -----------------------------------------------------------------------------------------------------


class Declare(View):
    @extend_schema(
        operation_id="declare_relations",
        summary="Declare what an InstanceID, or its AppID as a whole, uses.",
        request=DeclareRequest,
        parameters=[KEY],
        responses={201: DeclaredSerializer, **problems(400, 404, 409, 422)},
    )
    @idempotent
    def post(self, request: Request, pk: int) -> Response:
        found, values = the_appid(request.user, pk), self.validated(DeclareRequest)
        done = declarations.declare(request.user, found, **values, address=address_of(request))
        return Response(_declared(done), status=201)


class Adopt(View):
    @extend_schema(
        operation_id="adopt_relations",
        summary="Declare what was seen and is not declared: some of it, or all.",
        request=AdoptRequest,
        parameters=[KEY],
        responses={201: DeclaredSerializer, **problems(400, 404, 409, 422)},
    )
    @idempotent
    def post(self, request: Request, pk: int) -> Response:
        found, values = the_appid(request.user, pk), self.validated(AdoptRequest)
        chosen: list[Relation] | None = None
        if "relations" in values:
            chosen = [Relation(found.name, **relation) for relation in values["relations"]]
        address = address_of(request)
        done = declarations.adopt(request.user, found, chosen, whole=values["whole"], address=address)
        return Response(_declared(done), status=201)


class OneDeclaration(View):
    @extend_schema(
        operation_id="withdraw_relation",
        summary="Take a declaration back. One that somebody else has taken back meanwhile is no error.",
        responses={204: None, **problems(404)},
    )
    def delete(self, request: Request, pk: int, row: int) -> Response:
        declarations.withdraw(request.user, the_appid(request.user, pk), row, address_of(request))
        return Response(status=204)


def _declared(done: Declared) -> dict[str, Any]:
    return {
        "added": [relation._asdict() for relation in done.added],
        "registered": list(done.registered),
        "left": [sentence(reason) for reason in done.left],
    }


# -- a pair --------------------------------------------------------------------------------------------------------


class Declarations(PagedView):
    @extend_schema(
        operation_id="list_relations",
        summary="What is declared beside what was seen.",
        description=f"Of each state the first {MOST_COUNTED:,}, and as many are counted: where there may "
        f"be more, ask for one AppID, for a part of a name,"
        " or for the export, which has all of them.",
        parameters=[ListQuery, *PAGES],
        responses={200: DifferenceSerializer(many=True), **problems(400, 404)},
    )
    def get(self, request: Request, pair: str) -> Response:
        asked = self.validated(ListQuery, request.query_params.dict())
        found = the_pair(request.user, pair)
        state = State(asked["state"]) if asked["state"] else None
        rows = Compared(found, asked["q"], asked["appid"], state)
        return self.page(_Rows(found, rows.first), lambda row: row)


class _Rows:
    """The rows of a list; only those of the requested page are built."""

    def __init__(self, pair: Pair, rows: First) -> None:
        self._pair, self._rows = pair, rows

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, part: slice) -> list[dict[str, Any]]:
        rows = self._rows[part]
        names = {row.relation.appid for row in rows}
        held = Declaration.objects.filter(appid__pair=self._pair, appid__name__in=names)
        by_relation = {one.relation: one for one in held.select_related("appid", "declared_by")}
        return [_difference(row, by_relation.get(row.relation)) for row in rows]


def _difference(found: Difference, held: Declaration | None) -> dict[str, Any]:
    by = held.declared_by if held is not None else None
    return {
        **found.relation._asdict(),
        "state": found.state.value,
        "last_seen": found.last_seen,
        "id": held.pk if held is not None else None,
        "note": held.note if held is not None else "",
        "source": held.source if held is not None else "",
        "declared_by": by.get_username() if by is not None else None,
        "declared_at": held.declared_at if held is not None else None,
    }


class ImportFile(View):
    @extend_schema(
        operation_id="import_relations",
        summary="What a file would change; with the digest of that answer it is made so, all of it or nothing.",
        request=ImportRequest,
        parameters=[KEY],
        responses={200: ImportSerializer, **problems(400, 404, 409, 412, 422)},
    )
    @idempotent
    def post(self, request: Request, pair: str) -> Response:
        found, values = the_pair(request.user, pair), self.validated(ImportRequest)
        done = declarations.import_csv(
            request.user,
            found,
            values["csv"].encode(),
            whole=values["whole"],
            dry_run=not values["digest"],
            expected=values["digest"],
            address=address_of(request),
        )
        if done.faults:
            raise Problem(409, *_faults(done.faults))
        if values["digest"] and not done.done:
            raise Problem(
                412, say("The differences are others than those you looked at. Look at them again.")
            )
        return Response(_import(done))


def _faults(faults: Iterable[Fault]) -> list[Sentence]:
    told = list(faults)
    found = [
        say("Line %(line)s: %(fault)s", line=fault.line, fault=sentence(fault.sentence))
        if fault.line
        else fault.sentence
        for fault in told[:MAX_FAULTS]
    ]
    if len(told) > MAX_FAULTS:
        found.append(say("… and %(count)s more of this kind.", count=len(told) - MAX_FAULTS))
    return found


def _import(done: Import) -> dict[str, Any]:
    def noted(relations: Iterable[Relation]) -> list[dict[str, Any]]:
        return [{**relation._asdict(), "note": done.relations[relation]} for relation in relations]

    return {
        "done": done.done,
        "digest": done.digest,
        "added": noted(done.changes.added),
        "noted": noted(done.changes.noted),
        "withdrawn": [relation._asdict() for relation in done.changes.withdrawn],
        "registers": [{"appid": appid, "instance_id": name} for appid, name in done.registers],
        "same": done.changes.same,
    }


class ExportFile(View):
    @extend_schema(
        operation_id="export_relations",
        summary="What is declared as the file that can be imported; with a state also what was only seen.",
        parameters=[Filters],
        responses={200: FileSerializer, **problems(400, 404)},
    )
    def get(self, request: Request, pair: str) -> Response:
        asked = self.validated(Filters, request.query_params.dict())
        found = the_pair(request.user, pair)
        return Response({"csv": declared.file_of(found, asked["q"], asked["state"])})

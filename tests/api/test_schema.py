"""The OpenAPI document, and the API against it: whatever schemathesis sends, the answer is as described and
no fault.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
import schemathesis
from django.contrib.auth.models import Group
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.validation import validate_schema
from hypothesis import HealthCheck, settings
from schemathesis.config import SchemathesisConfig
from schemathesis.specs.openapi.checks import positive_data_acceptance

from hadash.accounts import tokens
from hadash.accounts.roles import ROLES, SCOPES

pytestmark = [pytest.mark.stack, pytest.mark.django_db, pytest.mark.in_turn]

#: Requests to each endpoint.
EXAMPLES = 10


def test_the_document_is_valid(program: Any) -> None:
    document = program("vera").get("openapi.json").json()
    assert document["openapi"].startswith("3.1")
    validate_schema(document)
    described = {
        (path, method): operation
        for path, each in document["paths"].items()
        for method, operation in each.items()
    }
    assert all(operation["summary"] for operation in described.values())
    assert len({operation["operationId"] for operation in described.values()}) == len(described)


def test_writes_take_an_idempotency_key(program: Any) -> None:
    document = program("vera").get("openapi.json").json()
    lacking = {
        f"{method} {path}"
        for path, each in document["paths"].items()
        for method, operation in each.items()
        if method in ("post", "put", "patch")
        and "Idempotency-Key" not in {parameter["name"] for parameter in operation.get("parameters", ())}
    }
    # A plan and a preview change nothing; a token's secret is not kept, so its answer cannot be either.
    changing_nothing = {
        "post /api/v1/plans/",
        "post /api/v1/batch-plans/",
        "post /api/v1/binding-changes/preview/",
    }
    assert lacking == changing_nothing | {"post /api/v1/tokens/"}


def test_what_is_said_to_developers_is_not_in_it(program: Any) -> None:
    text = program("vera").get("openapi.json").content.decode()
    for said in ("A handler's class", "One whose lists come in pages"):
        assert said not in text


def test_an_act_is_described_with_what_it_answers(program: Any) -> None:
    document = program("vera").get("openapi.json").json()

    def codes(path: str) -> set[str]:
        return set(document["paths"][f"/api/v1/{path}"]["post"]["responses"])

    refused = {"400", "401", "403", "404", "409", "413", "422"}
    for action in ("decline", "cancel"):
        assert codes(f"binding-changes/{{key}}/{action}/") == {"200"} | refused
    for action in ("retire", "rebuild"):
        assert codes(f"switches/{{key}}/{action}/") == {"202"} | refused
    assert codes("switches/{key}/approve/") == {"200", "202", "412", "503"} | refused


@pytest.fixture
def in_one_transaction() -> Iterator[None]:
    """A WSGI server closes connections between requests; here they are the test's own (Django's test client
    does the same).
    """
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


@pytest.fixture
def secret(
    in_one_transaction: None,
    fleet: Any,
    people: Any,
    engines: Any,
    planned: None,
    started: list[str],
    make_switch: Any,
    make_batch: Any,
) -> str:
    """A token of somebody who may do everything; behind it a fleet with a switch and a batch that wait."""
    make_switch()
    make_batch()
    people.olga.groups.set(Group.objects.filter(name__in=ROLES))
    return tokens.issue(people.olga, "fuzz", list(SCOPES), 1)[1]


@cache
def application() -> Any:
    """hadash, made when a test has its settings."""
    return get_wsgi_application()


#: Every refusal is one: what is made up may also be larger than any body may be (413).
CONFIG = {"checks": {"negative_data_rejection": {"expected-statuses": ["4xx", "5xx"]}}}

schema = schemathesis.openapi.from_dict(
    SchemaGenerator().get_schema(request=None, public=True), config=SchemathesisConfig.from_dict(CONFIG)
)
schema.app = lambda environ, start_response: application()(environ, start_response)


@pytest.mark.filterwarnings(
    "ignore::hypothesis.errors.HypothesisDeprecationWarning"
)  # threads use random meanwhile
@schema.parametrize()
@settings(
    max_examples=EXAMPLES,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.filter_too_much],
)
def test_no_answer_is_a_fault(case: schemathesis.Case, secret: str) -> None:
    # (A key that begins with a slash would be taken for another server's name.)
    response = case.call(headers={"Authorization": f"Bearer {secret}", "Host": "127.0.0.1"})
    # What belongs together (an AppID to a scope of kind appid) is said in words, not in the document.
    case.validate_response(
        response,
        headers={"Authorization": f"Bearer {secret}"},
        excluded_checks=[positive_data_acceptance],
    )

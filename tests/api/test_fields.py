"""Texts that the API takes: of the type and the length that its document says."""

from __future__ import annotations

from typing import Any

import pytest
from rest_framework.exceptions import ValidationError

from hadash.api.fields import Text


@pytest.mark.parametrize("sent", ["订单" * 3, "orders" + "\x1f" * 3, " " * 7])
def test_spaces_count_when_a_text_is_too_long(sent: str) -> None:
    with pytest.raises(ValidationError, match="no more than 5 characters"):
        Text(max_length=5, allow_blank=True).run_validation(sent)


def test_spaces_around_a_text_are_removed() -> None:
    assert Text(max_length=5).run_validation(" 订单 ") == "订单"


@pytest.mark.parametrize("sent", [12, True, ["orders"], {}])
def test_what_is_no_text_is_refused(sent: Any) -> None:
    with pytest.raises(ValidationError, match="text in quotes"):
        Text().run_validation(sent)

"""When something is tried again."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hadash.outbox.backoff import RetryPlan


@given(st.integers(1, 20), st.text(max_size=20))
def test_no_delay_is_shorter_than_planned_and_none_is_longer_than_its_jitter(tries: int, key: str) -> None:
    plan = RetryPlan((5, 300, 1800), jitter=0.1)
    delay = plan.delay_after(tries, key)
    if tries > 3:
        assert delay is None
    else:
        planned = plan.delays[tries - 1]
        assert delay is not None
        assert planned <= delay <= planned * 1.1
        assert plan.delay_after(tries, key) == delay, "always the same for one delivery"


def test_what_failed_together_does_not_come_back_together() -> None:
    plan = RetryPlan((300,), jitter=0.1)
    assert len({plan.delay_after(1, str(number)) for number in range(100)}) > 90


def test_the_server_may_ask_for_more_but_not_for_less() -> None:
    plan = RetryPlan((300,))
    assert plan.delay_after(1, "a", at_least=900) == 900
    assert plan.delay_after(1, "a", at_least=1) == 300

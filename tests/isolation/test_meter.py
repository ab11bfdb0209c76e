"""What a worker was at when its time ran out, as the process that waits for it sees it."""

from __future__ import annotations

import time

import pytest

from certattn.isolation import meter as module
from certattn.isolation.meter import Meter


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic_ns", lambda: round(now[0] * 1e9))
    return now


def test_nothing_was_asked_yet() -> None:
    assert Meter().asked == ""


def test_the_obligation_it_is_at_and_what_took_longest(clock: list[float]) -> None:
    meter = Meter()
    for name, seconds in (("first", 2.0), ("second", 5.0), ("first", 4.0), ("third", 1.5)):
        meter.asks(name, 64)
        clock[0] += seconds
    assert (
        meter.asked
        == "1.5 s after it began with the obligation third at 64 bits; before, first took the most time, 6.0 s"
    )


def test_what_took_no_time_is_not_named(clock: list[float]) -> None:
    meter = Meter()
    meter.asks("first", 53)
    clock[0] += 0.01
    meter.asks("second", 128)
    assert meter.asked == "0.0 s after it began with the obligation second at 128 bits"


@pytest.mark.parametrize(
    "words", ["", "[", "[1, 2]", '["a", 64, "b", "c", "d"]', "{}", '["a", 64, 1, "b", "c"]', "null"]
)
def test_garbage_of_a_worker_says_nothing(words: str) -> None:
    meter = Meter()
    meter._say(module._ASKED, words)
    assert meter.asked == ""


def test_long_names_are_cut_and_a_reason_stays_whole() -> None:
    meter = Meter()
    meter.left_binary64("too wide")
    meter.asks("keys[" + "9" * 500 + "]", 64)
    assert "keys[999" in meter.asked
    assert meter.reason == "too wide"

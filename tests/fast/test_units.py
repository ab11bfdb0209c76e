"""What the bounds assume of the machine is found out where it does not hold: in every thread, in every way."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
import pytest
from exact_attention import swept, swept_tightly
from rounding_modes import MODES, flushing_subnormals, rounding, set_rounding

from certattn.fast import sums, units
from certattn.fast.enclosures import Enclosures
from certattn.fast.units import require_rounding_to_nearest, require_sound_arithmetic
from certattn.kernel.errors import GuardError

TOKENS = np.random.default_rng(0).standard_normal((40, 3))
QUERY = np.array([1.0, -0.5, 0.25])
TIERS: dict[str, Callable[..., Any]] = {"default": swept, "tight": swept_tightly}


def test_this_machine_is_sound() -> None:
    require_sound_arithmetic()


@pytest.mark.parametrize("mode", MODES)
def test_another_rounding_mode_is_found(mode: str) -> None:
    with rounding(mode), pytest.raises(GuardError, match="this thread does not round to nearest"):
        require_sound_arithmetic()
    require_sound_arithmetic()


def test_flushed_subnormal_numbers_are_found() -> None:
    with flushing_subnormals():
        assert (np.full(16, 2.0**-1060) * 1.0 == 0).all()
        with pytest.raises(GuardError, match="flushes subnormal numbers"):
            require_sound_arithmetic()
    require_sound_arithmetic()


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("mode", MODES)
def test_sweeps_begin_with_the_guards(tier: str, mode: str) -> None:
    with rounding(mode), pytest.raises(GuardError):
        TIERS[tier](TOKENS, TOKENS, QUERY)
    with flushing_subnormals(), pytest.raises(GuardError):
        TIERS[tier](TOKENS, TOKENS, QUERY)
    TIERS[tier](TOKENS, TOKENS, QUERY)


@pytest.mark.parametrize("tier", TIERS)
def test_enclosures_are_not_made_in_another_rounding_mode(tier: str) -> None:
    """Sums that are sound, handed to a thread that is not."""
    found = TIERS[tier](TOKENS, TOKENS, QUERY)
    again = partial(Enclosures, found.sums, np.zeros(1)) if tier == "default" else partial(type(found), found.sums)
    again()
    with rounding("up"), pytest.raises(GuardError):
        again()


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("mode", MODES)
def test_a_thread_of_the_pool_that_rounds_otherwise_is_found(
    tier: str, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The main thread is sound; only the workers are not."""
    pool = partial(ThreadPoolExecutor, initializer=set_rounding, initargs=(mode,))
    monkeypatch.setattr(sums, "ThreadPoolExecutor", pool)
    monkeypatch.setattr(sums, "_MULTIPLICATIONS_PER_THREAD", 1)
    TIERS[tier](TOKENS, TOKENS, QUERY, threads=2)  # set right
    monkeypatch.setattr(sums, "set_default", lambda: None)
    with pytest.raises(GuardError, match="this thread does not round to nearest"):
        TIERS[tier](TOKENS, TOKENS, QUERY, threads=2)
    require_sound_arithmetic()


def test_threads_inherit_the_mode_and_that_is_found() -> None:
    with ThreadPoolExecutor(1) as pool:
        with rounding("up"):
            # The thread starts here.
            error = pool.submit(require_sound_arithmetic).exception()
        assert isinstance(error, GuardError)


@pytest.mark.parametrize("name", ["UNIT", "UNDERFLOW", "UP", "DOWN", "LARGEST"])
def test_a_constant_that_was_compiled_elsewhere_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As bytecode that was written while literals were rounded upward would have it."""
    constant, pattern = units._CONSTANTS[name]
    assert constant is getattr(units, name)
    monkeypatch.setitem(units._CONSTANTS, name, (float(np.nextafter(constant, np.inf)), pattern))
    with pytest.raises(GuardError, match=f"the constant {name} "):
        require_sound_arithmetic()


# -- matrix products that are not what they should be


class Array(np.ndarray):
    """An array whose matrix product is another."""

    instead: Callable[[Any, Any], Any]

    def __matmul__(self, other: Any) -> Any:
        return type(self).instead(np.asarray(self), np.asarray(other))


def in_single_precision(left: Any, right: Any) -> Any:
    return (left.astype(np.float32) @ right.astype(np.float32)).astype(np.float64)


def flushed(left: Any, right: Any) -> Any:
    with flushing_subnormals():
        return left @ right


def with_terms_left_out(left: Any, right: Any) -> Any:
    return left[:, :-1] @ right[:-1]


def of_fewer_bits(left: Any, right: Any) -> Any:
    """As if products were rounded to 40 bits before they are added up."""
    exact = left[..., None] * right[None]
    mantissa, exponent = np.frexp(exact)
    return np.ldexp(np.rint(np.ldexp(mantissa, 40)), exponent - 40).sum(axis=1)


def rounded_up(left: Any, right: Any) -> Any:
    with rounding("up"):
        return left @ right


def rounded_to_zero(left: Any, right: Any) -> Any:
    with rounding("to zero"):
        return left @ right


ROUNDED = ("_TIES", "_LONG", "_WIDE")
FOUND = [
    *((in_single_precision, where) for where in (*ROUNDED, "_TABLE")),
    *((otherwise, where) for otherwise in (rounded_up, rounded_to_zero, flushed) for where in ROUNDED),
    *((otherwise, "_TABLE") for otherwise in (with_terms_left_out, of_fewer_bits)),
]


@pytest.mark.parametrize(("instead", "where"), FOUND)
def test_other_matrix_products_are_found(
    where: str, instead: Callable[[Any, Any], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each in a single one of the trials: no other covers for it."""
    changed = type("Changed", (Array,), {"instead": staticmethod(instead)})
    original = getattr(units, where)
    if isinstance(original, tuple):
        monkeypatch.setattr(units, where, (original[0].view(changed), original[1]))
    else:
        monkeypatch.setattr(units, where, original.view(changed))
    with pytest.raises(GuardError, match="matrix products"):
        require_sound_arithmetic()


def test_other_inner_products_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def vecdot(left: Any, right: Any) -> Any:
        return np.matmul(left.astype(np.float32), right.astype(np.float32)).astype(np.float64)

    monkeypatch.setattr(units, "np", type("Numpy", (), {**vars(np), "vecdot": staticmethod(vecdot)}))
    with pytest.raises(GuardError, match="matrix products"):
        require_sound_arithmetic()


def test_the_nearest_mode_alone_is_cheap_to_ask_for() -> None:
    require_rounding_to_nearest()
    with rounding("down"), pytest.raises(GuardError):
        require_rounding_to_nearest()

"""The kernel's exponential against Arb at 400 bits, at scores that are random and at scores that are meant to hurt."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from flint import arb
from observed_errors import Floats, computed, relative_errors

from certattn.fast import exponential
from certattn.fast.exponential import SCORE_LIMIT, SIZE, TABLE, TAIL_LIMIT, Work, exp_shifted, relative_error
from certattn.fast.exponential_bound import REACH
from certattn.kernel.mathematics.balls import working_precision

UNIT = 2.0**-53
STEP = np.log(2) / SIZE
RNG = np.random.default_rng(2026)


def shifts_of(scores: Floats) -> Floats:
    return np.floor(scores / np.log(2))


def neighbours(scores: Floats) -> Floats:
    """Each score, and the doubles on both sides of it."""
    return np.concatenate([scores, np.nextafter(scores, np.inf), np.nextafter(scores, -np.inf)])


def worst_entries(count: int) -> list[int]:
    """The entries of the table with the largest relative errors."""
    with working_precision(200):
        step = arb(2).log() / SIZE
        errors = [float(abs(arb(entry) / (j * step).exp() - 1)) for j, entry in enumerate(TABLE.tolist())]
    return sorted(range(SIZE), key=errors.__getitem__, reverse=True)[:count]


def around_the_worst_entries() -> Floats:
    return np.concatenate([(j + RNG.random(1500) - 0.5) * STEP for j in worst_entries(8)])


TIES = (np.arange(-3000, 3000, 7) + 0.5) * STEP
FAR_TIES = (np.round(np.linspace(-SCORE_LIMIT, SCORE_LIMIT, 400) / STEP) + 0.5) * STEP

Case = tuple[Floats, Floats | int]


def plain(scores: Floats) -> Case:
    return scores, 0


def shifted(scores: Floats, by: int = 0) -> Case:
    """The scores with their own K, moved by so much."""
    return scores, shifts_of(scores) + by


def mixed(low: float, high: float, count: int) -> Floats:
    """Scores between low and high in size, of both signs."""
    return RNG.uniform(low, high, count) * RNG.choice([-1.0, 1.0], count)


CASES: dict[str, Case] = {
    "random": plain(mixed(0, 690, 4000)),
    "normal": plain(RNG.standard_normal(4000)),
    "around 1": plain(RNG.standard_normal(1000) * 1e-4),
    "+-700": plain(neighbours(np.array([700.0, -700.0]))),
    "large": shifted(mixed(0, SCORE_LIMIT, 4000)),
    "beyond 10000": shifted(mixed(10000, SCORE_LIMIT, 1000)),
    "the largest": shifted(np.array([SCORE_LIMIT, -SCORE_LIMIT])),
    "a block with one K": (RNG.uniform(9300, 9999, 1000), 14425),
    "the reach downwards": shifted(mixed(0, 5000, 500), REACH - 1),
    "the reach upwards": shifted(mixed(0, 5000, 500), 1 - REACH),
    "ties": plain(neighbours(TIES)),
    "ties of large scores": shifted(np.clip(neighbours(FAR_TIES), -SCORE_LIMIT, SCORE_LIMIT)),
    "multiples of ln 2": plain(neighbours(np.arange(-990.0, 990.0, 13) * np.log(2))),
    "multiples of the step": plain(neighbours(np.arange(-2 * SIZE, 2 * SIZE, 11) * STEP)),
    "subnormal": plain(np.concatenate([mixed(0, 1, 500) * 2.0**-1022, [5e-324, -5e-324, 2.0**-1022]])),
    "tiny": plain(np.ldexp(mixed(0, 1, 500), RNG.integers(-1070, -1, 500))),
    "short": plain(np.ldexp(RNG.integers(-127, 128, 500).astype(float), RNG.integers(-20, 3, 500))),
    "worst entries": plain(around_the_worst_entries()),
}


def complaints(bound: float) -> list[str]:
    """The cases in which an error is larger than the bound."""
    return [name for name, (scores, shift) in CASES.items() if relative_errors(scores, shift).max() > bound]


def test_no_error_is_larger_than_the_proved_bound(record_property: pytest.RecordProperty) -> None:
    bound = relative_error()
    largest = {name: float(relative_errors(scores, shift).max()) for name, (scores, shift) in CASES.items()}
    record_property("observed, in units of 2^-53", max(largest.values()) / UNIT)
    assert all(error <= bound for error in largest.values()), largest
    # The search is worth something: it comes close.
    assert max(largest.values()) > 0.985 * bound


@pytest.mark.parametrize("factor", [0.1, 0.5, 0.9, 0.98])
def test_a_bound_that_is_too_small_is_caught(factor: float) -> None:
    assert complaints(factor * relative_error())


@pytest.mark.parametrize("scale", [0.0, 1.0, 2.0**-13])
def test_tails(scale: float) -> None:
    scores = np.concatenate([around_the_worst_entries(), RNG.uniform(-690, 690, 2000), neighbours(TIES)])
    tails = scale * TAIL_LIMIT * RNG.choice([-1.0, 1.0, 0.3, -0.7, 2.0**-900], scores.shape)
    assert relative_errors(scores, 0, tails).max() <= relative_error(tail=True)
    if scale:
        # A tail that is left out would show.
        moved = np.abs(computed(scores, 0, tails) / computed(scores, 0) - 1)
        assert (moved > 0.1 * scale * TAIL_LIMIT).any()


def test_tails_add_to_large_scores_too() -> None:
    scores = RNG.uniform(-SCORE_LIMIT, SCORE_LIMIT, 2000)
    tails = RNG.uniform(-TAIL_LIMIT, TAIL_LIMIT, 2000)
    assert relative_errors(scores, shifts_of(scores), tails).max() <= relative_error(tail=True)


# -- exact properties


@pytest.mark.parametrize("zero", [0.0, -0.0])
@pytest.mark.parametrize("shift", [0, 5, -5, 1000])
def test_the_exponential_of_zero_is_exact(zero: float, shift: int) -> None:
    scores = np.full(3, zero)
    assert computed(scores, shift).tolist() == [2.0**-shift] * 3
    assert computed(scores, shift, np.zeros(3)).tolist() == [2.0**-shift] * 3


def test_another_k_is_exactly_another_power_of_two() -> None:
    scores = RNG.uniform(-5, 5, 1000)
    plain = computed(scores, 0)
    for shift in (-1000, -1, 1, 7, 1000):
        assert (computed(scores, shift) == np.ldexp(plain, -shift)).all()


def test_equal_scores_have_equal_values_wherever_they_stand() -> None:
    scores = np.full(1001, 0.3)
    assert len(set(computed(scores, 0).tolist())) == 1


def test_k_may_be_an_array_of_integers_of_any_type() -> None:
    scores = RNG.uniform(-30, 30, (6, 50))
    shift = np.array([[-40], [0], [1], [7], [40], [-3]])
    expected = np.vstack([computed(row, int(k)) for row, (k,) in zip(scores, shift, strict=True)])
    for dtype in (np.int32, np.int64, np.float32, np.float64):
        assert (computed(scores, shift.astype(dtype)) == expected).all()


def test_the_table_is_nearest_and_cannot_be_changed() -> None:
    assert TABLE[0] == 1.0
    assert TABLE.shape == (SIZE,)
    with working_precision(200):
        step = arb(2).log() / SIZE
        for j, entry in enumerate(TABLE.tolist()):
            # Half a unit in the last place of numbers in [1, 2).
            assert abs(arb(entry) - (j * step).exp()) <= arb(2) ** -53
    with pytest.raises(ValueError, match="read-only"):
        TABLE[0] = 1.5


def test_the_constants_are_what_they_are_said_to_be() -> None:
    with working_precision(200):
        step = arb(2).log() / SIZE
        radius = step / 2
        moved = 2 * (arb(2).sqrt() - 1) * radius * radius
        assert int((step * arb(2) ** 39).floor().unique_fmpz()) == exponential.L1 * 2**39
        for constant, meant, accuracy in (
            (exponential.L2, step - arb(exponential.L1), 2.0**-93),
            (exponential.INVERSE, 1 / step, 2.0**-41),
            (exponential.C2, arb(1) / 2 + moved / 24, 2.0**-53),
            (exponential.C3, arb(1) / 6 + moved / 120, 2.0**-55),
        ):
            assert abs(arb(constant) - meant) <= arb(accuracy)


# -- use


def test_the_score_is_used_up_and_the_result_is_the_array_that_was_handed_over() -> None:
    scores, out = np.array([1.0, 2.0]), np.empty(2)
    assert exp_shifted(scores, 0, out, Work(2)) is out
    assert np.allclose(out, np.exp([1.0, 2.0]))


def test_a_view_with_gaps_is_as_good() -> None:
    room = np.empty((40, 9))
    scores = RNG.uniform(-5, 5, (40, 7))
    expected = computed(scores, 0)
    room[:, :7] = scores
    out = np.empty((40, 9))[:, :7]
    exp_shifted(room[:, :7], 0, out, Work((40, 7)))
    assert (out == expected).all()


@pytest.mark.parametrize("wrong", ["s", "out", "tail"])
@pytest.mark.parametrize("defect", ["float32", ">f8", "shape"])
def test_other_numbers_and_shapes_are_refused(wrong: str, defect: str) -> None:
    arrays = {name: np.zeros(4) for name in ("s", "out", "tail")}
    arrays[wrong] = np.zeros(5) if defect == "shape" else np.zeros(4, defect)
    with pytest.raises(TypeError, match="float64 of shape"):
        exp_shifted(arrays["s"], 0, arrays["out"], Work(4), arrays["tail"])


def test_threads_with_scratch_of_their_own_do_not_disturb_each_other() -> None:
    blocks = [RNG.uniform(-50, 50, 20000) for _ in range(4)]
    found: list[Floats | None] = [None] * 4

    def run(index: int) -> None:
        found[index] = computed(blocks[index], 0)

    threads = [threading.Thread(target=run, args=(index,)) for index in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all((result == computed(block, 0)).all() for block, result in zip(blocks, found, strict=True))

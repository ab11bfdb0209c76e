"""Shares of the softmax weight over a region, before anything is decided."""

from __future__ import annotations

from pathlib import Path

import cache_cases as cases
import pytest
from flint import arb

from certattn.kernel.decide.checker import CLAIMS
from certattn.kernel.document.certificate import loads
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.theorems.attention.cache_regions import CacheOverRegion


def over(family: cases.Family, folder: Path) -> CacheOverRegion:
    found = CLAIMS["cache-error"].read(loads(next(family.cases()).text, folder / "case.yaml")).over
    assert isinstance(found, CacheOverRegion)
    return found


@pytest.mark.parametrize("family", [cases.BALL, cases.SEES, cases.BOX], ids=lambda family: family.title)
def test_a_share_and_that_of_the_others_add_up_to_1(family: cases.Family, arrays: Path) -> None:
    region = over(family, arrays)
    tokens = frozenset({0})
    with working_precision(100):
        query = region.region.cell(0).centre
        shares = [region.share(some).at(query)[0] for some in (tokens, region.others(tokens))]
        assert abs(sum(shares, arb(0)) - 1) < 1e-25
        largest = region.largest("mass", region.share(tokens), "linf", 0)
        least = region.least_share("mass", tokens, 0)
        # The one bounds from above what the other bounds from below.
        assert (largest.worst >= least.worst) is True
        assert (largest.worst <= 1) is True


def test_the_share_of_all_tokens_is_1_and_of_none_0_exactly(arrays: Path) -> None:
    region = over(cases.BALL, arrays)
    with working_precision(64):
        assert region.largest("mass", region.share(frozenset(region.seen)), "linf", 0).worst == 1
        assert region.largest("mass", region.share(frozenset()), "linf", 0).worst == 0

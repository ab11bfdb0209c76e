"""Generating `cache-error`: what is written verifies and is sharp; what does not fit together is said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import certattn
from certattn import UsageError, Verdict

RNG = np.random.default_rng(11)
Q, K, V = (RNG.standard_normal(shape).astype(np.float16) for shape in ((2, 5, 4), (1, 12, 4), (1, 12, 6)))
CODES, SCALE = RNG.integers(0, 256, (1, 12, 2)).astype(np.uint8), np.full((1, 12, 1), 1 / 8, np.float32)
ZERO = np.full((1, 1, 1), 8, np.uint8)
PACKED: dict[str, Any] = {"key_codes": CODES, "key_scale": SCALE, "key_zero": ZERO, "packed": "low-first"}


def generate(folder: Path, **inputs: Any) -> certattn.Certificate:
    given = {"scale": "1/2", "queries": Q, "keys": K, "values": V}
    return certattn.generate("cache-error", folder / "cache.yaml", **{**given, **inputs})


@pytest.mark.parametrize(
    "inputs",
    [{"keep": [0, 3, 11]}, {"kept": np.array([[0, 5, 11]])}, PACKED, {**PACKED, "causal": "bottom-right"},
     {"cached_values": V + np.float16(0.25)}, {"keep": [1, 2], "tokens": [0, 1]}, {"tokens": [4]},
     {"cached_keys": K[:, ::2], "cached_values": V[:, ::2], "multiplicities": np.full((1, 6), 2, np.int32)}],
)  # fmt: skip
def test_what_is_written_verifies_and_is_sharp(inputs: dict[str, Any], tmp_path: Path) -> None:
    certificate = generate(tmp_path, **inputs, lower=True, everywhere=True)
    report = certattn.check(tmp_path / "cache.yaml")
    assert report.verdict is Verdict.VERIFIED, report.reason
    asserts = certificate.plain["asserts"]
    assert set(asserts) == {
        *({"deviation", "relative"} if set(inputs) != {"tokens"} else ()),
        *({"evicted"} if {"keep", "kept"} & set(inputs) else ()),
        *({"mass"} if "tokens" in inputs else ()),
    }
    for bounds in asserts.values():
        assert float(bounds["at_least"]) <= float(bounds["at_most"]) < 1.02 * float(bounds["at_least"])


def test_bounds_for_each_query_of_one_head(tmp_path: Path) -> None:
    one = {"queries": Q[0], "keys": K[0], "values": V[0], "keep": [0, 1, 2]}
    certificate = generate(tmp_path, **one, per_query=True, lower=True)
    assert len(certificate.plain["asserts"]["evicted"]["per_query"]["at_least"][0]) == 5
    assert certattn.check(tmp_path / "cache.yaml").verdict is Verdict.VERIFIED


def test_a_stated_bound_is_stated_whether_it_holds_or_not(tmp_path: Path) -> None:
    generate(tmp_path, keep=[0], at_most={"deviation": "1/1000"})
    assert certattn.check(tmp_path / "cache.yaml").verdict is Verdict.REFUTED


@pytest.mark.parametrize(
    ("inputs", "words"),
    [({"scale": None}, "no scale"), ({}, "nothing to state"), ({"key_codes": CODES}, "no array key_scale beside"),
     ({"packed": "low-first", "keep": [0]}, "packed codes, and no codes"),
     ({**PACKED, "cached_keys": K}, "cached_keys, or key_codes with their scales, not both"),
     ({"keep": [0], "kept": np.array([0])}, "not both"), ({"states": ["mass"], "keep": [0]}, "no tokens for the mass"),
     ({"keep": [0], "per_query": True}, "one head at a time"), ({"keep": [0], "output": Q}, "unknown arrays output"),
     ({"keep": [0], "states": ["rms"]}, "'rms' is nothing to state"), ({"keys": None, "keep": [0]}, "no array keys")],
)  # fmt: skip
def test_what_does_not_fit_together_is_said(inputs: dict[str, Any], words: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=words):
        generate(tmp_path, **inputs)
    assert not list(tmp_path.iterdir())


# -- over regions


REGION: dict[str, Any] = {
    "keys": K[0],
    "values": V[0],
    "region": {"kind": "ball", "centre": [0, 1, 0, 1], "radius": "1/4"},
}


@pytest.mark.parametrize(
    "inputs",
    [{"keep": [0, 3, 11]}, {"keep": [1, 2, 5], "tokens": [0, 1]}, {"tokens": [4]},
     {"cached_values": V[0] + np.float16(0.25)},
     {"cached_keys": K[0, ::2], "cached_values": V[0, ::2], "multiplicities": np.full((1, 6), 2, np.int32)}],
)  # fmt: skip
def test_over_a_region_what_is_written_verifies(inputs: dict[str, Any], tmp_path: Path) -> None:
    certificate = generate(tmp_path, queries=None, **REGION, **inputs, lower=True, everywhere=True, cells=20)
    report = certattn.check(tmp_path / "cache.yaml")
    assert report.verdict is Verdict.VERIFIED, report.reason
    asserts = certificate.plain["asserts"]
    assert set(asserts) == {
        *({"deviation"} if set(inputs) != {"tokens"} else ()),
        *({"evicted"} if "keep" in inputs else ()),
        *({"mass"} if "tokens" in inputs else ()),
    }
    for name, bounds in asserts.items():
        assert float(bounds["at_least"]) <= float(bounds["at_most"]) < 1.2 * float(bounds["at_least"])
        assert ("at_least_everywhere" in bounds) == (name != "deviation")
    assert "queries" not in certificate.plain["given"]


def test_a_copy_over_a_region_deviates_by_nothing(tmp_path: Path) -> None:
    certificate = generate(tmp_path, queries=None, **REGION, cached_keys=K[0], cached_values=V[0])
    assert float(certificate.plain["asserts"]["deviation"]["at_most"]) < 1e-12
    assert certattn.check(tmp_path / "cache.yaml").verdict is Verdict.VERIFIED


@pytest.mark.parametrize(
    ("inputs", "words"),
    [({"per_query": True, "keep": [0]}, "a region has none"),
     ({"states": ["relative"], "keep": [0]}, "bounds are absolute"),
     ({"causal": 0, "keep": [0]}, "sees in the region"),
     ({"keys": K[[0, 0]], "values": V[[0, 0]], "keep": [0]}, "the keys of one head beside a region"),
     ({"at_most": {"deviation": "1/1000"}, "keep": [0]}, "is not proved"),
     ({"cells": 0, "keep": [0]}, "cells")],
)  # fmt: skip
def test_over_a_region_what_does_not_fit_is_said(inputs: dict[str, Any], words: str, tmp_path: Path) -> None:
    with pytest.raises(certattn.CertattnError, match=words):
        generate(tmp_path, **{**REGION, "queries": None, **inputs})
    assert not (tmp_path / "cache.yaml").exists()


def test_cells_are_of_a_region(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="none is given"):
        generate(tmp_path, keep=[0], cells=3)

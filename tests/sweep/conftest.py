"""Small sweeps."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from certattn.kernel.errors import MalformedError
from certattn.sweep.spec import Spec, read_spec

OPERATOR = """\
certattn-sweep: 1
claim: infinite-prompt-operator
inputs:
  given: {law: {kind: gaussian, mean: [$mean], covariance: [[$variance]]}, V: [[-1]]}
grid:
  mean: {from: 0, to: 1/2, step: 1/2}
  variance: [1, 2, 3]
"""
MEAN = """\
certattn-sweep: 1
claim: softmax-mean
arrays:
  keys: {draw: normal, shape: [$n, 2], seed: $seed}
  values: {draw: signs, shape: [$n, 1], seed: $seed}
  queries: {draw: uniform, shape: [1, 2], seed: $seed}
inputs: {scale: 1/sqrt($n), log_normaliser: true, digits: 9}
zip:
  n: [4, 8]
  seed: [0, 1]
"""
FILES = """\
certattn-sweep: 1
claim: softmax-mean
inputs:
  names: {keys: keys.npy, values: values.npy, queries: queries.npy}
"""


@pytest.fixture
def spec(tmp_path: Path) -> Callable[[str], Spec]:
    """Read a spec from text, in a file `spec.yaml`."""

    def read(text: str) -> Spec:
        path = tmp_path / "spec.yaml"
        path.write_text(text)
        return read_spec(path)

    return read


@pytest.fixture
def refused(spec: Callable[[str], Spec]) -> Callable[[str], tuple[int, str, str]]:
    """Line, key path and what was found, of the error of a spec."""

    def read(text: str) -> tuple[int, str, str]:
        with pytest.raises(MalformedError) as caught:
            spec(text).tasks()
        place = caught.value.place
        return place.line, place.path, caught.value.found

    return read

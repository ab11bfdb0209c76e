"""The JSON Schema against the reader, in both directions."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from certattn.kernel.decide.checker import CLAIMS, theorem_of
from certattn.kernel.document.certificate import load, loads
from certattn.kernel.document.schema import Flag, Kind, Rational, Reading
from certattn.kernel.document.tree import Node, Plain
from certattn.kernel.errors import MalformedError
from certattn.report.json_schema import json_schema, schema_of
from certattn.writing import to_text

GALLERY = sorted((Path(__file__).resolve().parent.parent.parent / "certificates").rglob("*.yaml"))
SCHEMA = json_schema()
VALIDATOR = Draft202012Validator(SCHEMA)
# Of a text that names its claim, the other branches say no at once; but a validator looks for all that is wrong there.
OF_CLAIM = {
    branch["properties"]["claim"]["const"]: Draft202012Validator({**SCHEMA, "oneOf": [branch]})
    for branch in SCHEMA["oneOf"]
}
JSON_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")

Path_ = tuple[str | int, ...]


def reader_accepts(plain: Plain) -> bool:
    """Whether a tree has the form of a certificate; array files are not opened."""
    assert isinstance(plain, dict)
    try:
        certificate = loads(to_text(plain), "certificate.yaml")
        claim = theorem_of(certificate)
        claim.read(certificate)
        claim.first_bits(certificate)
    except MalformedError:
        return False
    return True


def schema_accepts(plain: Any) -> bool:
    named = plain.get("claim") if isinstance(plain, dict) else None
    validator = OF_CLAIM.get(named, VALIDATOR) if isinstance(named, str) else VALIDATOR
    return bool(validator.is_valid(plain))


def typed(plain: Plain) -> Any:
    """The tree as an editor has it, which takes what looks like a number for one."""
    if isinstance(plain, dict):
        return {key: typed(item) for key, item in plain.items()}
    if isinstance(plain, list):
        return [typed(item) for item in plain]
    return json.loads(plain) if JSON_NUMBER.fullmatch(plain) else plain


@pytest.mark.heavy
def test_the_schema_is_a_schema() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert json.loads(json.dumps(SCHEMA)) == SCHEMA


def test_there_is_one_branch_for_each_claim() -> None:
    assert [branch["properties"]["claim"]["const"] for branch in SCHEMA["oneOf"]] == list(CLAIMS)
    assert all("claim" in branch["required"] for branch in SCHEMA["oneOf"])


def test_every_field_is_described() -> None:
    for branch in SCHEMA["oneOf"]:
        assert all(field.get("description") for field in branch["properties"].values())


# -- what the reader accepts, the schema accepts

ARRAY = "{file: a.npz, array: x, sha256: %s, dtype: float16, shape: [3, 2], rows: 0:2}" % ("0f" * 32)
HEADS = "{file: a.safetensors, array: x, sha256: %s, dtype: float16, shape: [2, 4, 3, 2]}" % ("0f" * 32)
BYTES = HEADS.replace("float16", "uint8").replace("[2, 4, 3, 2]", "[2, 2, 2, 1]")

ACCEPTED = {
    "keys and values": """
certattn: 1
claim: output-deviation
given: {keys: [[1, 0]], values: [[0x1.8p-3, 1e-3]], queries: [[1/2, -2.5]], limit: {kind: empirical}}
asserts: {deviation: {norm: linf, at_least: 0}}
""",
    "tokens": """
certattn: "1"
claim: output-deviation
given:
  tokens: [[1, 0], [0, 1]]
  K: [[1, 2]]
  Q: [[3]]
  V: [[1, 1]]
  queries: [[1]]
  scale: 1/sqrt(2)
  limit: {kind: affine, matrix: [[1]], offset: [0], scale: sqrt(2)}
asserts: {deviation: {norm: l2, at_most: 7, at_least: 1/7, per_query: {at_most: [8], at_least: [0.5]}}}
witness: {bits: 128}
""",
    "U and arrays": f"""
certattn: 1
claim: output-deviation
given:
  tokens: {ARRAY}
  U: [[1, 0], [0, 1]]
  queries: {ARRAY}
  limit:
    kind: law
    law: {{kind: mixture, components: [{{weight: 1, law: {{kind: rademacher, sizes: [1, 2]}}}}]}}
asserts: {{deviation: {{norm: l2, at_most: 7}}}}
provenance: {{who: 12, when: 2024-01-01, how: true, why: "null"}}
""",
    "a ball of queries": f"""
certattn: 1
claim: output-deviation
given:
  keys: [[1, 0], [0, 1]]
  values: [[1], [2]]
  region: {{kind: ball, centre: {ARRAY.replace("0:2", "0:1")}, radius: 1/4}}
  limit: {{kind: empirical}}
asserts: {{deviation: {{norm: l2, at_most: 7, at_least: 0.5}}}}
witness: {{cells: 0 . 1 . ., query: [1/2, 0x1p-2], bits: 64}}
""",
    "a box of queries": """
certattn: 1
claim: output-deviation
given:
  tokens: [[1, 0], [0, 1]]
  region: {kind: box, lower: [0, 1/3], upper: [1, 0.5]}
  limit: {kind: affine, matrix: [[1, 0], [0, 1]], offset: [0, 0]}
asserts: {deviation: {norm: linf, at_most: 7}}
witness: {cells: .}
""",
    "a hull of queries": f"""
certattn: 1
claim: output-deviation
given:
  tokens: [[1, 0], [0, 1]]
  U: [[1, 0], [0, 1]]
  region: {{kind: hull, points: {ARRAY}}}
  limit: {{kind: empirical}}
asserts: {{deviation: {{norm: l2, at_least: 0.5}}}}
witness: {{cells: 0-1 . ., weights: [1/3, 2/3]}}
""",
    "an operator": """
certattn: 1
claim: infinite-prompt-operator
given: {law: {kind: gaussian, mean: [0], covariance: [[0]]}, queries: {mean: [1], covariance: [[1]]}}
asserts:
  operator: {matrix: [[0]], offset: [0]}
  pushforward: {mean: [0], covariance: [[0]]}
  values: [{query: [1], value: [0], radius: 0}]
witness: {queries: [[5]]}
""",
    "a law with U": """
certattn: 1
claim: infinite-prompt-operator
given: {U: [[1]], law: {kind: atoms, points: [[1], [2]], weights: [1/3, 2/3]}}
asserts: {values: [{query: [1], value: [0], radius: 1e-15}]}
""",
    "means, covariances and eigenvalues": """
certattn: 1
claim: softmax-mean
given: {keys: [[1, 0], [0, 1]], values: [[1, 2], [3, 1/2]], queries: [[1, 0], [0, 2]], scale: sqrt(2)}
asserts:
  mean: {value: [[1, 2], [3, 4]], radius: 1e-3}
  covariance: {of: keys, value: [[[1, 0], [0, 1]], [[2, 0], [0, 2]]], radius: [0.5, 1/3]}
  eigenvalues: {of: values, at_least: 0, at_most: [1, 2]}
  log_normaliser: {value: [1, 2], radius: 0}
witness: {bits: 64}
""",
    "means in arrays": f"""
certattn: 1
claim: softmax-mean
given: {{tokens: [[1, 0], [0, 1]], U: [[1, 0], [0, 1]], V: [[1, 1]], queries: [[1, 0], [0, 1]]}}
asserts:
  mean: {{value: {ARRAY.replace("[3, 2]", "[3, 1]")}, radius: {ARRAY.replace("[3, 2]", "[3]")}}}
  covariance: {{of: values-keys, value: {ARRAY}, radius: 1}}
""",
    "heads in arrays": f"""
certattn: 1
claim: attention-error
given:
  queries: {HEADS}
  keys: {HEADS.replace("2, 4", "2, 2")}
  values: {HEADS.replace("2, 4", "2, 2")}
  output: {HEADS.replace("float16", "float8_e4m3fn")}
  scale: 1/sqrt(2)
  causal: bottom-right
  window: 2
  lengths: [3, 3]
  lse: {{value: {HEADS.replace(", 2]", "]")}, base: 2}}
asserts:
  error: {{at_most: 1/8}}
  relative: {{at_most: 0.1, at_least: 0}}
  ulps: {{at_most: 1}}
  rms: {{at_least: 1e-9}}
  lse: {{at_most: 1}}
  beyond: {{radius: 0.5, at_most: 3, at_least: 1}}
witness: {{bits: 64}}
""",
    "a cache": f"""
certattn: 1
claim: cache-error
given:
  queries: {HEADS}
  keys: {HEADS.replace("2, 4", "2, 2")}
  values: {HEADS.replace("2, 4", "2, 2")}
  scale: 1/sqrt(2)
  causal: bottom-right
  cache:
    kept: [[0, 2]]
    keys: {{codes: {BYTES}, scale: {BYTES.replace("uint8", "float16")}, packed: low-first}}
    values: {{codes: {BYTES.replace("2, 1]", "2, 2]")}, scale: {BYTES}, zero: {BYTES}, offset: {BYTES}}}
    multiplicities: [[1, 1/2]]
asserts:
  error: {{at_most: 1/8}}
  relative: {{at_least_everywhere: 0, at_least: 0}}
  evicted: {{per_query: {{at_most: {HEADS.replace(", 2]", "]")}}}}}
  mass: {{tokens: [0, 1], at_most: 1}}
witness: {{bits: 64}}
""",
    "a head that is written out": """
certattn: 1
claim: attention-error
given:
  {queries: [[1], [2], [0]], keys: [[0], [1], [1/2]], values: [[1], [2], [3]], output: [[1], [2], [3]], scale: 1,
   causal: 1, sequences: {queries: [2, 1], keys: [1, 2]}, lse: {value: [[1, 2, 3]], base: e}}
asserts: {beyond: {radius: 0, at_most: 3}, rms: {at_most: 2}, lse: {at_most: 4}}
""",
    "a box": """
certattn: 1
claim: infinite-prompt-operator
given: {law: {kind: box, sizes: [0.25]}, V: [[2]]}
asserts: {values: [{query: [1], value: [0], radius: 3}]}
""",
}


def tree(text: str) -> dict[str, Plain]:
    return loads(text, "certificate.yaml").plain


@pytest.mark.parametrize("name", ACCEPTED)
def test_every_form_is_accepted_by_both(name: str) -> None:
    plain = tree(ACCEPTED[name])
    assert reader_accepts(plain)
    for form in (plain, typed(plain)):
        assert not list(VALIDATOR.iter_errors(form))


@pytest.mark.parametrize("claim", CLAIMS)
def test_every_certificate_of_the_gallery_is_accepted(claim: str) -> None:
    for path in GALLERY:
        if path.parent.name == claim:
            plain = load(path).plain
            for form in (plain, typed(plain), yaml.safe_load(path.read_text())):
                assert schema_accepts(form), path.stem


# -- structural defects are refused by both


def places(plain: Plain, path: Path_ = ()) -> Iterator[tuple[Path_, Plain]]:
    yield path, plain
    items = plain.items() if isinstance(plain, dict) else enumerate(plain) if isinstance(plain, list) else ()
    for key, item in items:
        yield from places(item, (*path, key))


def replaced(plain: Plain, path: Path_, value: Plain) -> Plain:
    if not path:
        return value
    changed = copy.deepcopy(plain)
    parent: Any = changed
    for key in path[:-1]:
        parent = parent[key]
    parent[path[-1]] = value
    return changed


def shown(path: Path_) -> str:
    return ".".join(map(str, path)) or "top"


MOMENTS = ("mean", "covariance", "eigenvalues", "log_normaliser", "entropy", "top")


def either(path: Path_) -> bool:
    """Whether a number or a vector may stand there: which vector, only the reader knows, and which text is a number."""
    return path[-1] in ("radius", "at_least", "at_most") and path[1] in MOMENTS


def structural_defects(plain: Plain) -> Iterator[tuple[str, Plain]]:
    for path, value in places(plain):
        if path[:1] == ("provenance",) and len(path) == 1:
            yield "provenance is no mapping", replaced(plain, path, ["x"])
        elif isinstance(value, dict):
            if path[:1] != ("provenance",):
                yield f"{shown(path)} has an unknown key", replaced(plain, path, {**value, "bogus": "1"})
            if path and not either(path):
                yield f"{shown(path)} is a text", replaced(plain, path, "nonsense")
            if path:
                yield f"{shown(path)} is an empty list", replaced(plain, path, [])
        elif isinstance(value, list):
            yield f"{shown(path)} is empty", replaced(plain, path, [])
            if not either(path):
                yield f"{shown(path)} is a text", replaced(plain, path, "nonsense")
            yield f"{shown(path)} is a mapping", replaced(plain, path, {"bogus": "1"})
            yield f"{shown(path)} is nested too deeply", replaced(plain, path, [[[["1"]]]])
        else:
            if not either(path):
                yield f"{shown(path)} is a list", replaced(plain, path, ["1"])
            yield f"{shown(path)} is a mapping", replaced(plain, path, {"bogus": "1"})


@pytest.mark.parametrize("name", ACCEPTED)
def test_structural_defects_are_refused_by_both(name: str) -> None:
    plain = tree(ACCEPTED[name])
    defects = list(structural_defects(plain))
    # Of very many, some sixty from all places.
    for defect, changed in defects[:: 1 + len(defects) // 60]:
        assert not reader_accepts(changed), defect
        assert not schema_accepts(changed), defect
        assert not schema_accepts(typed(changed)), defect


@pytest.mark.parametrize("name", ACCEPTED)
def test_a_missing_key_is_refused_by_both_or_by_neither(name: str) -> None:
    plain = tree(ACCEPTED[name])
    # What a law or a dimension still needs is beyond a schema, and so is that something is asserted.
    beyond = {"Q", "K", "V", "at_most", "at_least", "per_query", "operator", "pushforward", "values", "queries", "rows"}
    beyond |= {"of", "asserts.mean", "region", "causal", "lse", "cache", "kept", "packed"}
    refused = 0
    for path, _ in places(plain):
        if not path or not isinstance(path[-1], str) or path[-1] in beyond:
            continue
        changed: Any = copy.deepcopy(plain)
        parent = changed
        for key in path[:-1]:
            parent = parent[key]
        del parent[path[-1]]
        assert reader_accepts(changed) == schema_accepts(changed), shown(path)
        refused += not schema_accepts(changed)
    assert refused >= 8


WRONG_WORDS = [
    ("certattn", "2"),
    ("certattn", "1.0.0"),
    ("claim", "output_deviation"),
    ("given.limit.kind", "Empirical"),
    ("given.limit.kind", "gaussian"),
    ("given.tokens.dtype", "float"),
    ("given.tokens.sha256", "0F" * 32),
    ("given.tokens.sha256", "0f" * 31),
    ("given.tokens.rows", "all"),
    ("given.limit.law.kind", "uniform"),
    ("given.limit.law.components.0.law.kind", "affine"),
    ("asserts.deviation.norm", "l1"),
]


@pytest.mark.parametrize(("path", "word"), WRONG_WORDS)
def test_wrong_words_are_refused_by_both(path: str, word: str) -> None:
    plain = tree(ACCEPTED["U and arrays"])
    steps: Path_ = tuple(int(step) if step.isdigit() else step for step in path.split("."))
    changed = replaced(plain, steps, word)
    assert not reader_accepts(changed)
    assert not schema_accepts(changed)


@pytest.mark.heavy
@pytest.mark.parametrize("name", ACCEPTED)
def test_the_schema_is_nowhere_stricter_than_the_reader(name: str) -> None:
    plain = tree(ACCEPTED[name])
    for path, value in places(plain):
        for other in ("1", "1/3", "0x1p-2", "x", "l2", [["1"]], ["1"], {"kind": "empirical"}):
            if isinstance(value, str) == isinstance(other, str):
                changed = replaced(plain, path, other)  # type: ignore[arg-type]
                if isinstance(changed, dict) and reader_accepts(changed):
                    assert schema_accepts(changed), shown(path)
                    assert schema_accepts(typed(changed)), shown(path)


def test_an_editor_has_typed_words_and_numbers() -> None:
    assert schema_of(Flag())["enum"] == [True, False, "true", "false"]
    assert "number" in schema_of(Rational())["type"]


def test_a_kind_says_how_it_is_written() -> None:
    class Unsaid(Kind[int]):
        def read(self, node: Node, reading: Reading) -> int:
            return 0

    with pytest.raises(TypeError, match="no JSON Schema for Unsaid"):
        schema_of(Unsaid())

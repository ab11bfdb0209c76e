"""Files that `certattn generate` takes in the place of a section of a certificate, made into that section.

They are read as strictly as certificates, and may say more: `data.npz[keys]` where an array may stand (its hash, number
type and shape are found here), short forms of matrices (`matrix_words`), and fields that only other commands of the
chapter use. Which field may hold what is read off the theorem's own schema.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from certattn.input_fields import FOR_SOME, binary_kind, fields_of, forms_of
from certattn.kernel.decide.checker import CLAIMS
from certattn.kernel.document.matrices import REFERENCE, VECTOR, Matrix, Vector
from certattn.kernel.document.quoting import listed, quote
from certattn.kernel.document.reader import parse_tree
from certattn.kernel.document.regular_files import reason, regular_file
from certattn.kernel.document.schema import Choice, Count, Kind, Listing, Rational, Record, Scale, Text
from certattn.kernel.document.tree import Node, Plain
from certattn.kernel.errors import MalformedError, Place, UsageError
from certattn.kernel.given.token_laws import LawKind
from certattn.kernel.limits import DEFAULT_LIMITS
from certattn.kernel.mathematics.reals import format_rational
from certattn.kernel.theorems import CHAPTER_OF, CHAPTERS
from certattn.provers import matrix_words
from certattn.provers.array_files import ONLY, open_array_file
from certattn.provers.array_inputs import InFile, InMemory, Source, file_and_array, placed
from certattn.provers.exact_inputs import exact_number, exact_text, key_text

# Fields that no certificate has, or not that of this claim, and that provers make others of.
_PROVERS_OWN: Final[Mapping[str, Collection[str]]] = {"flow-trajectory": ("training",)}
_BALL = {"centre", "radius"}
_WRITTEN_OUT: Final[Mapping[str, list[Kind[Any]]]] = {"P": [Listing(Listing(Rational()))]}
# Ways to say the same: where several are there, a person has to say which is meant.
_RIVALS = (("U", "K"), ("U", "Q"))
# Arrays with more numbers are not written out in a certificate.
_MOST_INLINE = 10_000
_ONLY_MATRICES = f"a matrix: a list of rows, an array such as data.npz[K], or {matrix_words.FORMS}"
_ONLY_VECTORS = "a vector: a list of numbers, or an array such as data.npz[mean]"
_BY_COLUMNS = "a matrix: two extents (rows, columns)"

_ARRAY_NAME = r"[^\s,:\[\]{}'\"#]+\.(?:npz|safetensors)\[[^\[\]\n'\"]*\]"
# Quoted texts and comments stay; what has commas or brackets would not be one text in brackets of YAML.
_UNQUOTED = re.compile(
    rf"'[^'\n]*'|\"[^\"\n]*\"|#[^\n]*|(?<=[ \[,])({_ARRAY_NAME}|{matrix_words.PATTERN})(?= *(?:[,\]}}\n]|\Z))"
)


@dataclass
class InputFile:
    """The section that a file is for, with holders in the place of array references that `given` fills.

    unused : fields that this command has no use for.
    """

    path: Path
    section: str
    plain: dict[str, Plain]
    arrays: dict[str, Source]
    unused: list[str]
    _holders: dict[str, dict[str, Plain]]
    _lines: dict[str, int]

    @contextmanager
    def given(self, out: Path) -> Iterator[dict[str, Plain]]:
        """The same as `filled`; errors in the section are errors in the file."""
        with self.filled(out), self._blamed():
            yield self.plain

    @contextmanager
    def filled(self, out: Path) -> Iterator[dict[str, Plain]]:
        """The section for a certificate at `out`; arrays that have to be copied are removed if the block raises."""
        stem = f"{out.stem}-{self.section.rpartition('.')[2]}"
        with placed(out, self.arrays, "auto", otherwise=(1, 4), stem=stem) as references:
            for name, holder in self._holders.items():
                # Rows that are meant stand in the holder already.
                holder.update({**references[name], **holder})
            yield self.plain

    @contextmanager
    def _blamed(self) -> Iterator[None]:
        try:
            yield
        except MalformedError as error:
            where = error.place.path
            if where != self.section and not where.startswith((f"{self.section}.", f"{self.section}[")):
                raise
            where = where.removeprefix(self.section).removeprefix(".")
            place = Place(str(self.path), self._line(where), where)
            raise MalformedError(place, error.found, error.expected, error.hint) from None

    def _line(self, where: str) -> int:
        """The line of what stands there, or of what holds it; 0 for the whole file."""
        while where and where not in self._lines:
            where = where[: max(where.rfind("."), where.rfind("["), 0)]
        return self._lines.get(where, 0) if where else 0


def columns_beside(source: Path | None, names: Mapping[str, str]) -> dict[str, int]:
    """How many columns the arrays of a file have, by their names there and by the fields that they are for."""
    # Options that take arrays may take YAML, too.
    if source is None or source.suffix in (".yaml", ".yml"):
        return {}
    headers = open_array_file(source).headers
    found = {name: header.shape[-1] for name, header in headers.items() if header.shape}
    return found | {field: found[name] for field, name in names.items() if name in found}


def read_input(path: Path, claim: str, section: str, beside: Mapping[str, int] = MappingProxyType({})) -> InputFile:
    """What a file holds of a section of a claim's certificate. Raises UsageError and MalformedError.

    beside : how many columns the arrays of fields have that are no part of the file.
    """
    kinds = _kinds(claim, section)
    top = _of_arrays(path) if path.suffix in (".npz", ".safetensors") else _of_text(path, fields_of(kinds))
    assert isinstance(top.value, dict)
    if {"certattn", "claim", "given"} <= top.value.keys():
        raise UsageError(
            f"{path} is a whole certificate; expected a file with what stands under its given. "
            f"To prove it: certattn check {path}"
        )
    name = section.rpartition(".")[2]
    whole = top
    if section != "given" and name in top.value and name not in fields_of(kinds):
        # A file for the whole section, of which this is a part.
        top = top.value[name]
        if not isinstance(top.value, dict):
            raise top.malformed(f"a mapping with the keys {listed(list(fields_of(kinds)))}")
    unused = _unused(top, claim) if whole is top and section == "given" else []
    reading = _Reading(path.parent, {}, beside)
    assert isinstance(top.value, dict)
    content = {key: node for key, node in top.value.items() if key not in unused}
    plain = reading.mapping(Node(top.file, top.line, content, top.parent, top.key), kinds)
    prefix = "" if whole is top else f"{top.path}."
    lines = {node.path.removeprefix(prefix): node.line for node in _nodes(top)}
    return InputFile(path, section, plain, reading.arrays, unused, reading.holders, lines)


@contextmanager
def spelt_out(
    claim: str, section: str, passed: Mapping[str, Any], out: Path, beside: Mapping[str, int]
) -> Iterator[Any]:
    """A section that a program has passed, with what its texts stand for; arrays and numbers are left as they are.

    Array files are named from the working folder.
    """
    *outer, own = section.split(".")
    parent = None
    for name in outer:
        parent = Node(claim, 0, {}, parent or Node(claim, 0, {}), name)
    top, reading = _tree(passed, claim, section, parent or Node(claim, 0, {}), own), _Reading(Path(), {}, beside)
    plain = reading.mapping(top, _kinds(claim, section))
    with InputFile(Path(claim), section, plain, reading.arrays, [], reading.holders, {}).filled(out) as read:
        yield _merged(passed, read)


def _tree(passed: Any, file: str, what: str, parent: Node | None, key: str | int) -> Node:
    """The tree that a file would have; of an array, its shape."""
    if getattr(passed, "ndim", 0) and hasattr(passed, "shape"):
        passed = {"shape": list(map(str, passed.shape))}
    if not isinstance(passed, Mapping | list | tuple):
        return Node(file, 0, exact_text(passed, what), parent, key)
    value: list[Node] | dict[str, Node] = {} if isinstance(passed, Mapping) else []
    node = Node(file, 0, value, parent, key)
    if isinstance(value, dict) and isinstance(passed, Mapping):
        for name, item in passed.items():
            value[key_text(name, what)] = _tree(item, file, f"{what}.{name}", node, name)
    elif isinstance(value, list):
        value.extend(_tree(item, file, f"{what}[{index}]", node, index) for index, item in enumerate(passed))
    return node


def _merged(passed: Any, read: Any) -> Any:
    """What was read in the place of texts, and else what was passed."""
    if isinstance(passed, str):
        return read
    if isinstance(passed, Mapping):
        return {name: _merged(passed[name], item) if name in passed else item for name, item in read.items()}
    if isinstance(passed, list | tuple):
        return [_merged(*pair) for pair in zip(passed, read, strict=True)]
    return passed


# -- reading


def _of_text(path: Path, keys: Collection[str]) -> Node:
    place, expected = Place(str(path)), "a YAML file, which is plain text"
    try:
        with regular_file(path, follow_link=True) as file:
            data = file.read(DEFAULT_LIMITS.max_document_bytes + 1)
    except (OSError, ValueError) as error:
        raise MalformedError(place, "a folder" if path.is_dir() else reason(error), "a readable YAML file") from None
    if len(data) > DEFAULT_LIMITS.max_document_bytes:
        found = f"a file over {DEFAULT_LIMITS.max_document_bytes} bytes"
        raise MalformedError(place, found, "a small text file", "save arrays to .npz files, and name them: data.npz[x]")
    if what := binary_kind(data):
        hint = "save it as UTF-8" if "UTF-16" in what else "in a YAML file, arrays are named: keys: data.npz[keys]"
        raise MalformedError(place, what, expected, hint)
    text = data.removeprefix(codecs.BOM_UTF8).decode("utf-8").replace("\r\n", "\n")
    if not text.strip():
        raise MalformedError(place, "an empty file", f"a YAML file with the keys {', '.join(keys)}, as far as needed")
    if "\t" in text:
        line = text[: text.index("\t")].count("\n") + 1
        raise MalformedError(Place(str(path), line), "a tab", "text without tabs", "indent with spaces")
    return parse_tree(_UNQUOTED.sub(_in_quotes, text), str(path), DEFAULT_LIMITS)


def _in_quotes(match: re.Match[str]) -> str:
    return f"'{match[1]}'" if match[1] else match[0]


def _of_arrays(path: Path) -> Node:
    """A file whose arrays have the names of fields, such as covariance, or start.A."""
    top = Node(str(path), 0, {})
    for name in open_array_file(path).headers:
        at = top
        *outer, last = name.split(".")
        for key in outer:
            assert isinstance(at.value, dict)
            at = at.value.setdefault(key, Node(str(path), 0, {}, at, key))
            if not isinstance(at.value, dict):
                raise UsageError(f"{path}: the arrays {at.path!r} and {name!r} cannot both be there")
        assert isinstance(at.value, dict)
        at.value[last] = Node(str(path), 0, f"{path.name}[{name}]", at, last)
    return top


def _nodes(node: Node) -> Iterator[Node]:
    yield node
    inner: Iterable[Node] = ()
    if isinstance(node.value, dict):
        inner = node.value.values()
    elif isinstance(node.value, list):
        # Of a long matrix, its rows.
        inner = (item for item in node.value if not isinstance(item.value, str))
    for item in inner:
        yield from _nodes(item)


# -- fields of the schema


def _items(kinds: Iterable[Kind[Any]]) -> list[Kind[Any]]:
    return [kind.item for kind in forms_of(kinds) if isinstance(kind, Listing)]


def _kinds(claim: str, section: str) -> list[Kind[Any]]:
    """What may stand in a section; one that is none of `given` has its name in what is asserted."""
    theorem = CLAIMS[claim]
    first, *rest = section.split(".")
    if first == "given":
        kinds: list[Kind[Any]] = [theorem.given]
        for name in rest:
            kinds = fields_of(kinds)[name]
        return kinds
    outer = fields_of([theorem.asserts])
    if first in outer:
        return outer[first]
    return next((inner[first] for kinds in outer.values() if first in (inner := fields_of(kinds))), [])


def _unused(top: Node, claim: str) -> list[str]:
    """Fields for other commands of the chapter, which this one has no use for."""
    assert isinstance(top.value, dict)
    there, own = set(top.value), fields_of([CLAIMS[claim].given])
    for_some = set(FOR_SOME.get(CHAPTER_OF[claim], ()))
    if claim.startswith("proposition") and {"length", "sigma"} <= there and "constants" not in there:
        # Without constants, sigma is that of a form for every length.
        own.pop("length")
    known = {name for other in CHAPTERS[CHAPTER_OF[claim]] for name in fields_of([CLAIMS[other].given])}
    unused = (there & for_some & (known - own.keys())) - set(_PROVERS_OWN.get(claim, ()))
    records = [form for form in forms_of([CLAIMS[claim].given]) if isinstance(form, Record)]
    fits = [record for record in records if there - unused <= record.fields.keys()]
    if fits or CHAPTER_OF[claim] != "prompts" or any(set(pair) <= there for pair in _RIVALS):
        return sorted(unused)
    # A law with a tilt as well as a query: the form that leaves least out.
    whole = [r for r in records if {name for name, each in r.fields.items() if each.required} - {"length"} <= there]
    extra = [(there - record.fields.keys()) for record in whole]
    extra = sorted((left for left in extra if left <= for_some), key=lambda left: (len(left), "query" in left))
    return sorted(extra[0] if extra else unused)


# -- what stands in fields


@dataclass
class _Reading:
    """Makes of nodes what certificates hold. `arrays` and `holders` are by key path, with dots before indices."""

    folder: Path
    arrays: dict[str, Source]
    beside: Mapping[str, int]
    holders: dict[str, dict[str, Plain]] = field(default_factory=dict)

    def mapping(self, node: Node, kinds: list[Kind[Any]]) -> dict[str, Plain]:
        assert isinstance(node.value, dict)
        fields = fields_of(kinds)
        if node.key == "queries" and fields and node.value.keys() == _BALL and _is_no_ball(kinds, fields):
            found = "a ball of queries, the centre and the radius, which output-tail is about"
            raise MalformedError(node.place, found, "a law of queries, such as mean and covariance of a Gaussian")
        for key, item in node.value.items():
            if fields and key not in fields and (near := get_close_matches(key, fields, 1)):
                expected = f"only the keys {', '.join(fields)}"
                raise MalformedError(item.place, f"the unknown key {quote(key)}", expected, f"did you mean {near[0]}?")
        made = {key: self.value(item, fields.get(key, _WRITTEN_OUT.get(key, []))) for key, item in node.value.items()}
        return _as_some_law(node, made, kinds, fields)

    def value(self, node: Node, kinds: list[Kind[Any]]) -> Plain:
        if isinstance(node.value, dict):
            if "file" in node.value and "sha256" not in node.value and _arrays_of(kinds):
                return self._completed(node)
            return self.mapping(node, kinds)
        if isinstance(node.value, list):
            # Of matrices, items are rows of numbers, or matrices or references again.
            items = _items(kinds)
            if any(isinstance(kind, Vector) for kind in forms_of(kinds)):
                items.append(Rational())
            return [self.value(item, items) for item in node.value]
        return self._text(node, node.value, kinds)

    def _text(self, node: Node, text: str, kinds: list[Kind[Any]]) -> Plain:
        arrays = _arrays_of(kinds)
        listings = [kind for kind in forms_of(kinds) if isinstance(kind, Listing)]
        if _is_matrix(arrays) or node.key in _WRITTEN_OUT:
            rows = matrix_words.written_out(node, self._columns, self.beside)
            if rows is not None:
                return rows
        if not file_and_array(text):
            if arrays and not any(isinstance(kind, Choice | Text | Rational) for kind in forms_of(kinds)):
                raise node.malformed(_ONLY_MATRICES if _is_matrix(arrays) else _ONLY_VECTORS)
            return text
        if arrays:
            return self._array(node, text, kinds)
        if listings or any(isinstance(kind, Rational | Scale | Count) for kind in forms_of(kinds)):
            return self._numbers(node, text, 1 if listings else 0)
        return text

    def _array(self, node: Node, text: str, kinds: list[Kind[Any]]) -> Plain:
        """A reference, to be filled, to an array with as many extents as one of the kinds has."""
        source = self._source(node, text)
        shape, dimensions = source.header.shape, [_dimensions(kind) for kind in _arrays_of(kinds)]
        listed_too = any(_arrays_of([item]) for item in _items(kinds))
        if any(least <= len(shape) <= most for least, most in dimensions):
            return self._held(node, source)
        if VECTOR in dimensions and len(shape) == 2 and 1 in shape:
            return self._held(node, InMemory(source.file.bits(source.name).reshape(-1), source.header.dtype))
        if listed_too and len(shape) == dimensions[0][1] + 1:
            if np.prod(shape, dtype=object) <= _MOST_INLINE:
                return self._numbers(node, text, len(shape))
            bits, dtype = source.file.bits(source.name), source.header.dtype
            inputs = (Node(node.file, node.line, text, node, i) for i in range(shape[0]))
            return [self._held(each, InMemory(bits[i], dtype)) for i, each in enumerate(inputs)]
        found = f"the shape {shape} in {text}"
        if listed_too:
            hint = "the arrays of all inputs stand one below the other, with lengths: [...], or are listed one by one"
            raise node.malformed(_BY_COLUMNS, found, hint)
        raise node.malformed("a vector: one extent" if set(dimensions) == {VECTOR} else _BY_COLUMNS, found)

    def _held(self, node: Node, source: Source, **more: Plain) -> dict[str, Plain]:
        name = re.sub(r"\[(\d+)\]", r".\1", node.path.removeprefix("given."))
        self.arrays[name], holder = source, dict(more)
        self.holders[name] = holder
        return holder

    def _completed(self, node: Node) -> dict[str, Plain]:
        """A reference without a hash: whatever else the tool can find is found, and has to agree with what is said."""
        plain: Any = node.plain()
        unknown = sorted(plain.keys() - REFERENCE.fields.keys())
        if unknown:
            raise node.malformed(f"only the keys {', '.join(REFERENCE.fields)}", f"the unknown key {quote(unknown[0])}")
        text = f"{plain['file']}[{plain['array']}]" if "array" in plain else str(plain["file"])
        source = self._source(node, text)
        shape: list[Plain] = [str(extent) for extent in source.header.shape]
        for key, found in (("dtype", source.header.dtype), ("shape", shape)):
            if plain.get(key, found) != found:
                raise node.malformed(f"the {key} {found} of {text}", f"{key}: {plain[key]}", f"leave {key} out")
        return self._held(node, source, **({"rows": plain["rows"]} if "rows" in plain else {}))

    def _numbers(self, node: Node, text: str, least: int) -> Plain:
        """The exact numbers of an array, written out."""
        source = self._source(node, text)
        count = int(np.prod(source.header.shape, dtype=object))
        if count > _MOST_INLINE:
            hint = "expected fewer numbers, or a field that may refer to an array file"
            raise node.malformed(f"at most {_MOST_INLINE} numbers, which are written out", f"{count} in {text}", hint)
        array = source.file.read(source.name)
        if least == 0 and array.size == 1:
            array = array.reshape(())
        if (array.ndim > 0) is not (least > 0):
            expected = "a list of numbers" if least else "one number"
            raise node.malformed(expected, f"the shape {array.shape} in {text}")
        if array.size == 0 or array.dtype.kind not in "iuf":
            found = f"the shape {array.shape}" if array.size == 0 else f"the number type {array.dtype.name}"
            raise node.malformed("floats or integers, at least one", f"{found} in {text}")
        if not np.isfinite(array).all():
            raise node.malformed("finite numbers", f"NaN or infinity in {text}")
        return _texts(array.tolist())

    def _source(self, node: Node, text: str) -> InFile:
        """The array that a text such as data.npz[keys] names, beside the file. Raises MalformedError."""
        named = file_and_array(text)
        assert named is not None
        name, array = named
        try:
            file = open_array_file(self.folder / name)
        except UsageError as error:
            raise node.malformed("an array file, such as data.npz[keys]", str(error)) from None
        if array is None and ONLY not in file.headers:
            if len(file.headers) != 1:
                hint = f"write {name}[NAME]"
                raise node.malformed("the name of an array in the file", f"{text}, which holds {file.listed()}", hint)
            (array,) = file.headers
        if (array or ONLY) not in file.headers:
            raise node.malformed("the name of an array in the file", f"{text}; {name} holds {file.listed()}")
        return InFile(file, array or ONLY)

    def _columns(self, node: Node) -> int | None:
        """How long the rows of the array are that a text names, or a reference without a shape."""
        text = node.value if isinstance(node.value, str) else ""
        if isinstance(node.value, dict):
            plain: Any = node.plain()
            text = f"{plain['file']}[{plain['array']}]" if "array" in plain else str(plain["file"])
        if not file_and_array(text):
            return None
        shape = self._source(node, text).header.shape
        return shape[-1] if shape else None


def _is_no_ball(kinds: list[Kind[Any]], fields: Mapping[str, Any]) -> bool:
    """Whether a claim takes no ball of queries: laws of queries have these fields too, beside their kind."""
    return any(isinstance(kind, LawKind) for kind in kinds) or not fields.keys() >= _BALL


def _as_some_law(
    node: Node, made: dict[str, Plain], kinds: list[Kind[Any]], fields: Mapping[str, Any]
) -> dict[str, Plain]:
    """The law of queries with its kind where a claim takes any law, without it where it takes a Gaussian only."""
    if node.key == "queries" and {"mean", "covariance"} <= made.keys() <= {"kind", "mean", "covariance"}:
        rest = {key: value for key, value in made.items() if key != "kind"}
        if made.get("kind", "gaussian") == "gaussian" and fields:
            return {"kind": "gaussian", **rest} if any(isinstance(kind, LawKind) for kind in kinds) else rest
    return made


def _arrays_of(kinds: Iterable[Kind[Any]]) -> list[Kind[Any]]:
    return [kind for kind in forms_of(kinds) if isinstance(kind, Matrix | Vector)]


def _is_matrix(kinds: Iterable[Kind[Any]]) -> bool:
    return any(isinstance(kind, Matrix) for kind in kinds)


def _dimensions(kind: Kind[Any]) -> tuple[int, int]:
    return kind.dimensions if isinstance(kind, Matrix) else VECTOR


def _texts(numbers: Any) -> Plain:
    if isinstance(numbers, list):
        return [_texts(item) for item in numbers]
    return format_rational(exact_number(numbers))


def notes_on(taken: InputFile, claim: str) -> Iterator[str]:
    """What is said of fields that are left out."""
    if taken.unused:
        are = "is" if len(taken.unused) == 1 else "are"
        yield f"{taken.path}: {', '.join(taken.unused)} {are} not used by {claim}"

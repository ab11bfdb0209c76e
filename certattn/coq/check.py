"""The check of an exported folder: everything in it is as it was written, and Coq proves the theorem.

1. Every file has the hash of the manifest, no other files are there, and the library is that of this certattn.
2. The certificate is read anew, and `Instance.v` has to be, letter for letter, what it gives: no other Coq text runs.
3. Coq compiles library and instance in fresh folders, without settings of the user; the library once in a run.
4. Coq is asked about what it has compiled: that the theorem has the statement of the certificate, which axioms it
   rests on, and for a fingerprint of its integers at a point drawn now, which has to be that of the certificate's.
"""

from __future__ import annotations

import json
import re
import secrets
import shutil
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from certattn.coq.compiled import CompiledLibrary, compiled_library
from certattn.coq.coqc import Coq, RejectedError
from certattn.coq.export import (
    CERTIFICATE,
    FORMAT,
    INSTANCE,
    LIBRARY,
    MANIFEST,
    SCRIPT,
    instance_of,
    library_text,
    modules_for,
    script_text,
    sha256,
    theorem_words,
)
from certattn.coq.instance import PRIMITIVE, STANDARD_AXIOMS, Instance, NotExportableError
from certattn.kernel.document.certificate import Certificate, load
from certattn.kernel.errors import UsageError
from certattn.kernel.limits import DEFAULT_LIMITS, Limits
from certattn.statements.wording import statement_of

_MANIFEST_BYTES = 2**24
_POINT_BITS = 61
_AXIOM = re.compile(r"^(?P<name>[A-Za-z_][\w.']*)", re.MULTILINE)
_ANSWER = re.compile(r"\A\s*= (?P<value>\d+)\s*: Z\s*$", re.MULTILINE)


@dataclass(frozen=True)
class Proof:
    """What Coq has proved: the statement in words, what of it the theorem is, its axioms, and how long it took."""

    claim: str
    states: str
    digest: str
    theorem: str
    axioms: tuple[str, ...]
    primitive: int
    seconds: float
    rechecked: bool


def check_folder(
    folder: Path,
    coq: Coq,
    library: CompiledLibrary | None = None,
    *,
    recheck: bool = False,
    limits: Limits = DEFAULT_LIMITS,
) -> Proof:
    """Have Coq prove what a folder states, with a library that several checks of one run share, or one of its own.

    `recheck` has `coqchk` go through the compiled proof once more, which takes long.
    Raises RejectedError where it does not, UsageError for what is no exported folder, LimitExceededError.
    """
    manifest = _read_manifest(folder)
    _require_files(folder, manifest)
    certificate, instance = _instance(folder, manifest, limits)
    _require_same_text(folder, manifest, instance)
    start = time.monotonic()
    with ExitStack() as temporary:
        if library is None:
            library = temporary.enter_context(compiled_library())
        fresh = Path(temporary.enter_context(tempfile.TemporaryDirectory(prefix="certattn-coq-")))
        axioms = prove(instance, coq, library, fresh, recheck=recheck)
    words = statement_of(certificate).words
    standard = tuple(sorted(name for name in axioms if name in STANDARD_AXIOMS))
    theorem = theorem_words(instance)
    return Proof(
        certificate.claim,
        words,
        certificate.digest,
        theorem,
        standard,
        len(axioms) - len(standard),
        time.monotonic() - start,
        recheck,
    )


def prove(instance: Instance, coq: Coq, library: CompiledLibrary, place: Path, *, recheck: bool = False) -> list[str]:
    """Compile an instance in `place`, which is empty, and ask Coq about the theorem; its axioms.

    Raises RejectedError where Coq does not prove it, or proves another theorem.
    """
    library.provide(modules_for(instance), coq)
    maps = [(library.folder, "CertAttn"), (place, "CertInstance")]
    (place / INSTANCE).write_text(instance.text(), encoding="ascii")
    coq.compile(place / INSTANCE, place, maps)
    point = secrets.randbits(_POINT_BITS)
    question = place / "Question.v"
    question.write_text(instance.question(point), encoding="ascii")
    axioms = _answers(coq.compile(question, place, maps), instance, point)
    if recheck:
        _recheck(coq, place, maps)
    return axioms


def _answers(printed: str, instance: Instance, point: int) -> list[str]:
    """The axioms, once the numbers are found to be those of the certificate."""
    answer = _ANSWER.match(printed)
    if answer is None:
        raise RejectedError(f"Coq did not answer as expected: {printed[:200]!r}")
    if int(answer["value"]) != instance.fingerprint(point):
        raise RejectedError("the numbers that Coq has read are not those of the certificate")
    rest = printed[answer.end() :].strip()
    if rest == "Closed under the global context":
        return []
    head, _, listed = rest.partition("\n")
    if head != "Axioms:":
        raise RejectedError(f"Coq did not list axioms as expected: {rest[:200]!r}")
    axioms = [match["name"] for match in _AXIOM.finditer(listed)]
    strange = [
        name
        for name in axioms
        if name not in STANDARD_AXIOMS and not (instance.fast and name.rpartition(".")[0] in PRIMITIVE)
    ]
    if strange or not axioms:
        raise RejectedError(f"the proof rests on more than the axioms of the real numbers: {', '.join(strange)}")
    return axioms


def _recheck(coq: Coq, folder: Path, maps: list[tuple[Path, str]]) -> None:
    program = shutil.which("coqchk")
    if program is None:
        raise UsageError("coqchk was not found beside coqc; check without --coqchk")
    arguments = [part for path, name in maps for part in ("-Q", str(path), name)]
    status, printed, said = coq.run([program, "-silent", *arguments, "-norec", "CertInstance.Instance"], folder)
    if status != 0:
        raise RejectedError(f"coqchk does not accept the compiled proof: {(said or printed)[-500:]}")


# -- the folder


def _read_manifest(folder: Path) -> dict[str, Any]:
    """Raises UsageError where there is none, RejectedError where it is not as one is written."""
    path = folder / MANIFEST
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise RejectedError(f"{path}: a link, a pipe or a folder, expected a regular file")
    if not path.is_file():
        raise UsageError(f"{folder}: no {MANIFEST} in it; expected a folder that `certattn export --format coq` wrote")
    if path.stat().st_size > _MANIFEST_BYTES:
        raise RejectedError(f"{path}: over {_MANIFEST_BYTES} bytes")
    try:
        manifest = json.loads(path.read_bytes().decode("ascii"), object_pairs_hook=_no_duplicates)
    except (ValueError, RecursionError) as error:
        raise RejectedError(f"{path}: not JSON as it is written by certattn ({error})") from None
    expected = {
        "certattn_coq": int, "certattn": str, "claim": str, "states": str, "digest": str, "theorem": str,
        "fast": bool, "certificate": str, "expected": dict, "files": dict,
    }  # fmt: skip
    if not isinstance(manifest, dict) or set(manifest) != set(expected):
        raise RejectedError(f"{path}: expected the keys {', '.join(expected)}")
    for key, kind in expected.items():
        if type(manifest[key]) is not kind:
            raise RejectedError(f"{path}: {key} is not of the kind that is written there")
    if manifest["certattn_coq"] != FORMAT:
        raise RejectedError(f"{path}: format {manifest['certattn_coq']}, expected {FORMAT}")
    return manifest


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({key for key, _ in pairs}) < len(pairs):
        raise ValueError("a key twice")
    return dict(pairs)


def _require_files(folder: Path, manifest: dict[str, Any]) -> None:
    """Exactly the files of the manifest, with their hashes; a library that is certattn's own."""
    found = {
        path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_symlink() or not path.is_dir()
    }
    stated = {MANIFEST, *manifest["files"]}
    for name in sorted(found ^ stated):
        problem = "is not in the manifest" if name in found else "is in the manifest and not in the folder"
        raise RejectedError(f"{folder / name}: {problem}")
    for name, digest in manifest["files"].items():
        path = folder / name
        if path.is_symlink() or not path.is_file():
            raise RejectedError(f"{path}: not a regular file")
        if sha256(path.read_bytes()) != digest:
            raise RejectedError(f"{path}: has not the SHA-256 of the manifest")


def _instance(folder: Path, manifest: dict[str, Any], limits: Limits) -> tuple[Certificate, Instance]:
    """The certificate and the theorem that it gives, both made anew."""
    name = manifest["certificate"]
    if name not in manifest["files"] or not name.startswith(f"{CERTIFICATE}/"):
        raise RejectedError(f"{folder / MANIFEST}: the certificate {name!r} is none of the files")
    try:
        certificate = load(folder / name, root=folder / CERTIFICATE, limits=limits)
        instance = instance_of(certificate, fast=manifest["fast"])
        said = (certificate.claim, statement_of(certificate).words, certificate.digest, theorem_words(instance))
    except NotExportableError as error:
        raise RejectedError(str(error)) from None
    for key, now in zip(("claim", "states", "digest", "theorem"), said, strict=True):
        if manifest[key] != now:
            raise RejectedError(f"{folder / MANIFEST}: {key} is not that of the certificate")
    return certificate, instance


def _require_same_text(folder: Path, manifest: dict[str, Any], instance: Instance) -> None:
    """Coq runs no text but certattn's own."""
    texts = {f"{LIBRARY}/{module}.v": library_text(module) for module in modules_for(instance)}
    texts |= {INSTANCE: instance.text(), SCRIPT: script_text(instance)}
    for name, text in texts.items():
        path = folder / name
        if not path.is_file() or path.read_bytes() != text.encode("ascii"):
            what = "this version of certattn has" if name.startswith(LIBRARY) else "the certificate gives"
            raise RejectedError(f"{path}: not the text that {what}")
    for name in manifest["files"]:
        if name not in texts and not name.startswith(f"{CERTIFICATE}/"):
            raise RejectedError(f"{folder / name}: does not belong there")

"""A certificate as a folder that Coq can prove: library, instance, certificate, manifest.

    manifest.json       what is stated, which theorem is proved, the SHA-256 of every other file
    Instance.v          the numbers and the theorem
    library/            the lemmas, with all proofs
    certificate/        the certificate with its array files
    check.sh            the same proof without certattn

Nothing that a certificate calls by name stands in a Coq file, only its numbers.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from importlib import resources
from pathlib import Path
from typing import Any, cast

from certattn._version import __version__
from certattn.coq.closed_forms import normalizer_bound_instance, universality_bound_instance
from certattn.coq.instance import PRIMITIVE, STANDARD_AXIOMS, Instance, NotExportableError
from certattn.coq.least_points import max_margin_instance
from certattn.coq.optimal_selections import token_optimality_instance
from certattn.coq.output_errors import attention_error_instance
from certattn.coq.softmax_distances import (
    infinite_prompt_operator_instance,
    output_deviation_instance,
    softmax_mean_instance,
)
from certattn.kernel.decide.checker import theorem_of
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.tree import Plain
from certattn.kernel.errors import LimitExceededError, UsageError
from certattn.statements.wording import statement_of

Exporter = Callable[..., Instance]

EXPORTERS: Mapping[str, Exporter] = {
    "attention-error": attention_error_instance,
    "infinite-prompt-operator": infinite_prompt_operator_instance,
    "max-margin": max_margin_instance,
    "normalizer-bound": normalizer_bound_instance,
    "output-deviation": output_deviation_instance,
    "softmax-mean": softmax_mean_instance,
    "token-optimality": token_optimality_instance,
    "universality-bound": universality_bound_instance,
}

FORMAT = 1
MANIFEST, INSTANCE, LIBRARY, CERTIFICATE, SCRIPT = "manifest.json", "Instance.v", "library", "certificate", "check.sh"
WHOLE = "the whole statement"

# The modules of the library, each after those that it needs.
_NEEDS: Mapping[str, tuple[str, ...]] = {
    "Statements": (),
    "Digits": (),
    "Fingerprint": (),
    "Formulas": (),
    "Integers": ("Statements",),
    "Enclosures": ("Statements", "Integers"),
    "Softmax": ("Statements", "Integers", "Enclosures"),
    "Heads": ("Statements", "Integers", "Enclosures", "Softmax"),
    "Spectrum": ("Statements", "Integers", "Enclosures", "Softmax", "Heads"),
    "Rules": ("Statements", "Integers", "Enclosures", "Softmax", "Heads", "Spectrum"),
    "SoftmaxExact": ("Rules",),
    "SoftmaxFast": ("Rules",),
    "Rows": ("Statements", "Integers"),
    "Margin": ("Statements", "Integers"),
    "Selections": ("Statements", "Integers", "Rows", "Margin"),
    "ClosedForms": ("Statements", "Formulas"),
}


def instance_of(certificate: Certificate, *, fast: bool = False) -> Instance:
    """The theorem of a certificate. Raises NotExportableError where it has no form in Coq, MalformedError."""
    claim = theorem_of(certificate)
    if claim.name not in EXPORTERS:
        raise NotExportableError(
            f"{certificate.path}: the claim {claim.name} has no form in Coq here; those that have are "
            f"{', '.join(EXPORTERS)}"
        )
    try:
        return EXPORTERS[claim.name](certificate, fast=fast)
    except NotExportableError as error:
        raise NotExportableError(f"{certificate.path}: {error}") from None


def export(
    certificate: Certificate, out: Path, *, root: Path | None = None, fast: bool = False, most_seconds: float = 600
) -> Instance:
    """Write the folder `out`, which must not be there yet, and return what is in it.

    `root` is the folder that array files may lie in, as it was for reading. Whether the certificate is true is not
    looked at, beyond what the choice of a precision takes; Coq would not prove a false one.
    Raises NotExportableError, UsageError, MalformedError, and LimitExceededError where Coq is expected to take longer
    than `most_seconds`.
    """
    if out.exists() or out.is_symlink():
        raise UsageError(f"{out}: is there already; expected the name of a new folder")
    if not out.absolute().parent.is_dir():
        raise UsageError(f"{out.absolute().parent}: is no folder to write into")
    instance = instance_of(certificate, fast=fast)
    if instance.cost.seconds > most_seconds:
        raise LimitExceededError(
            f"{certificate.path}: Coq would take about {instance.cost.seconds:.0f} s and "
            f"{instance.cost.megabytes:.0f} MB for this, more than {most_seconds:.0f} s (--most-seconds); "
            "fewer queries take less, and --fast does"
        )
    try:
        folder = Path(tempfile.mkdtemp(dir=out.absolute().parent, prefix=".certattn-"))
        try:
            _write(certificate, instance, folder, root)
            folder.chmod(0o755)
            folder.rename(out)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
    except OSError as error:
        # What nobody has heard of is a temporary folder beside it.
        raise OSError(error.errno, error.strerror or str(error), str(out)) from None
    return instance


def library_text(module: str) -> str:
    """A module of the library, as it is installed."""
    return (resources.files("certattn.coq") / "library" / f"{module}.v").read_text(encoding="utf-8")


def modules_for(instance: Instance) -> list[str]:
    """The modules that an instance and its questions need, in the order in which they are compiled."""
    wanted = {"Fingerprint", *instance.library}
    for module in reversed(list(_NEEDS)):
        if module in wanted:
            wanted |= set(_NEEDS[module])
    return [module for module in _NEEDS if module in wanted]


def script_text(instance: Instance) -> str:
    """The script that proves the theorem without certattn."""
    modules = modules_for(instance)
    texts = {f"{LIBRARY}/{module}.v": library_text(module) for module in modules} | {INSTANCE: instance.text()}
    replaced = {
        "hashes": "\n".join(f"{sha256(text.encode('ascii'))} {name}" for name, text in texts.items()),
        "modules": " ".join(modules),
        "header": instance.header,
        "axioms": " | ".join([*sorted(STANDARD_AXIOMS), *(f"{name}.*" for name in PRIMITIVE if instance.fast)]),
        "machine": " and of machine integers" if instance.fast else "",
    }
    script = (resources.files("certattn.coq") / "check.sh").read_text(encoding="ascii")
    for name, text in replaced.items():
        script = script.replace(f"{{{name}}}", text)
    return script


def theorem_words(instance: Instance) -> str:
    """What the theorem is of the statement."""
    return WHOLE if instance.says is None else f"its numeric core: {instance.says}"


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _write(certificate: Certificate, instance: Instance, folder: Path, root: Path | None) -> None:
    path = Path(certificate.path)
    base = (root if root is not None else path.parent).resolve()
    place = path.resolve()
    # A certificate outside the root is copied to its top: its arrays are found from its own folder.
    if not place.is_relative_to(base):
        raise UsageError(f"{path}: lies outside the root {base}; copy it there to export it")
    files: dict[str, bytes] = {INSTANCE: instance.text().encode("ascii")}
    for module in modules_for(instance):
        files[f"{LIBRARY}/{module}.v"] = library_text(module).encode("ascii")
    files[SCRIPT] = script_text(instance).encode("ascii")
    relative = place.relative_to(base).as_posix()
    files[f"{CERTIFICATE}/{relative}"] = place.read_bytes()
    for reference in sorted(set(_array_files(certificate.plain))):
        array = (path.parent / reference).resolve()
        stated = Path(f"{CERTIFICATE}/{relative}").parent / reference
        files[_normal(stated)] = array.read_bytes()
    for name, data in files.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    (folder / SCRIPT).chmod(0o755)
    claim = theorem_of(certificate)
    manifest = {
        "certattn_coq": FORMAT,
        "certattn": __version__,
        "claim": claim.name,
        "states": statement_of(certificate).words,
        "digest": certificate.digest,
        "theorem": theorem_words(instance),
        "fast": instance.fast,
        "certificate": f"{CERTIFICATE}/{relative}",
        "expected": {"seconds": round(instance.cost.seconds), "megabytes": round(instance.cost.megabytes)},
        "files": {name: sha256(data) for name, data in sorted(files.items())},
    }
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n", encoding="ascii")


def _normal(path: Path) -> str:
    """Without `..`: the reader of the certificate has seen to it that the path stays inside the root."""
    parts: list[str] = []
    for part in path.parts:
        if part == "..":
            parts.pop()
        else:
            parts.append(part)
    return "/".join(parts)


def _array_files(plain: Plain | dict[str, Plain]) -> Iterator[str]:
    """The files of all array references: mappings with a key `file`."""
    if isinstance(plain, dict):
        if "file" in plain and "sha256" in plain:
            yield str(plain["file"])
        for value in plain.values():
            yield from _array_files(cast(Any, value))
    elif isinstance(plain, list):
        for item in plain:
            yield from _array_files(cast(Any, item))

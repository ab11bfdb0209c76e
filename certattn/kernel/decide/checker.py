"""Certificate in, verdict out.

The loop that goes from fast to sharp arithmetic until every obligation is decided or the limit is reached: tiers of
binary64 where a theorem has them, then Arb with a working precision that doubles.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from certattn.kernel.decide.floating_point import default_floating_point
from certattn.kernel.decide.obligation import DOUBLE, Part
from certattn.kernel.decide.proof import Answer, Outcome, Proof, Verdict
from certattn.kernel.decide.theorem import Theorem
from certattn.kernel.document.certificate import CLAIM, Certificate, require_folder
from certattn.kernel.document.tree import Node
from certattn.kernel.errors import Binary64Error, UsageError
from certattn.kernel.limits import DEFAULT_LIMITS, Limits, Watch
from certattn.kernel.methods import noting_methods
from certattn.kernel.theorems import Claims, attribute_of

CLAIMS: Mapping[str, Theorem[Any]] = Claims(attribute_of("kernel.theorems", "THEOREM"))

ARITHMETICS = ("auto", "binary64", "arb")


@dataclass(frozen=True, slots=True)
class CheckOptions:
    """How to check. `root`: folder that array files may lie in (the certificate's own by default).

    `only`: check just the obligations matching this name or pattern; such a check never verifies.
    `detail`: keep every obligation in the report. `arithmetic`: one of ARITHMETICS; "auto" tries
    binary64 with proved bounds first and falls back to Arb. `watch`: who is told how far the check has come.
    """

    limits: Limits = DEFAULT_LIMITS
    root: Path | None = None
    only: str | None = None
    detail: bool = False
    arithmetic: str = "auto"
    watch: Watch = field(default_factory=Watch)

    def __post_init__(self) -> None:
        if self.root is not None:
            require_folder(self.root)
        if self.arithmetic not in ARITHMETICS:
            raise UsageError(f"arithmetic is {self.arithmetic!r}, expected one of {', '.join(ARITHMETICS)}")


@dataclass(frozen=True)
class Checked:
    """What a check found: the verdict, and all that is known of the obligations that were `wanted`.

    `stated` is what the theorem has read, `bits` the precision reached. `notes` say why an arithmetic was not used,
    `methods` are the modules whose use was noted, `unread` is what stands under `asserts` and was never looked at: a
    bug of the theorem, with the verdict ERROR.
    """

    certificate: Certificate
    theorem: Theorem[Any]
    stated: Any
    proof: Proof
    wanted: Sequence[str]
    verdict: Verdict
    bits: int
    notes: Sequence[str]
    methods: frozenset[str]
    unread: Node | None = None

    @property
    def answers(self) -> list[Answer]:
        """In the order of the obligations."""
        return [self.proof.answers[name] for name in self.wanted if name in self.proof.answers]


def theorem_of(certificate: Certificate) -> Theorem[Any]:
    """The theorem of the claim that a certificate names. Raises MalformedError for an unknown one."""
    if certificate.claim not in CLAIMS:
        raise certificate.values.node(CLAIM).malformed(f"one of the claims {', '.join(CLAIMS)}")
    return CLAIMS[certificate.claim]


def check(certificate: Certificate, options: CheckOptions) -> Checked:
    """Check a certificate that was read.

    Raises MalformedError where its content is not one, and GuardError where this thread does not compute as the proofs
    assume and cannot be made to.
    """
    with default_floating_point(), noting_methods() as methods:
        theorem = theorem_of(certificate)
        stated = theorem.read(certificate)
        proof = Proof(list(theorem.obligations(stated)), options.watch)
        names = list(proof.obligations)
        wanted = names if options.only is None else [name for name in names if _matches(name, options.only)]
        with options.watch.phase("arithmetic"):
            bits, notes = _search(proof, wanted, theorem.first_bits(certificate), options)
    verdict, unread = proof.verdict(wanted), None
    if verdict is Verdict.VERIFIED:
        unread = next(ignored(certificate.asserts, certificate.reading.used), None)
        if unread is not None:
            verdict = Verdict.ERROR
        elif options.only is not None:
            verdict = Verdict.INCONCLUSIVE
    return Checked(certificate, theorem, stated, proof, wanted, verdict, bits, notes, frozenset(methods), unread)


def _matches(name: str, only: str) -> bool:
    # Names hold square brackets, which patterns would take for character sets: try the name first.
    return name == only or fnmatchcase(name, only.replace("[", "[[]"))


def _search(proof: Proof, wanted: Sequence[str], first: int | None, options: CheckOptions) -> tuple[int, list[str]]:
    """Ask for every wanted obligation by the fastest arithmetic that decides it; the bits reached, and notes."""
    bits = 0
    notes: list[str] = []
    if options.arithmetic != "arb":
        for tier in proof.tiers:
            if not _pending(proof, wanted):
                return bits, notes
            try:
                proof.ask_fast(_pending(proof, wanted), tier)
                bits = DOUBLE
            except Binary64Error as error:
                notes.append(f"{tier.name} arithmetic was not used: {error}")
    if options.arithmetic != "binary64":
        left = _pending(proof, wanted)
        if left and options.arithmetic == "auto" and proof.tiers:
            options.watch.left_binary64(notes[-1] if notes else f"undecided obligations: {len(left)}")
        most = options.limits.max_bits
        following = min(first or options.limits.start_bits, most)
        while pending := _pending(proof, wanted):
            bits = following
            proof.ask(pending, bits)
            if bits >= most:
                break
            following = min(2 * bits, most)
    return bits, notes


def _pending(proof: Proof, wanted: Sequence[str]) -> list[str]:
    """What is still to be decided: nothing once the statement is refuted."""
    known = [proof.answers.get(name) for name in wanted]
    if any(a is not None and a.part is Part.STATEMENT and a.outcome is Outcome.REFUTED for a in known):
        return []
    return [name for name, a in zip(wanted, known, strict=True) if a is None or a.outcome is Outcome.UNDECIDED]


def ignored(asserts: Node, used: set[Node]) -> Iterator[Node]:
    """What stands under a key of `asserts`, however deep, and is not among what a theorem has asked its records for.

    A theorem that reads a number into a record and then leaves it there would verify whatever it is. That a number was
    asked for is much less than that it reached a side of an obligation: only changing it shows that. And of a list
    that was asked for, nobody knows here whether each item was looked at.
    """
    if isinstance(asserts.value, str):
        return
    if isinstance(asserts.value, dict):
        yield from (node for node in asserts.value.values() if node not in used)
    for node in asserts.value.values() if isinstance(asserts.value, dict) else asserts.value:
        yield from ignored(node, used)

"""A check in words: the kernel's verdict, its obligations as sentences, why it is not `verified`, and where."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from certattn.kernel.decide.checker import Checked, CheckOptions, check
from certattn.kernel.decide.floating_point import default_floating_point
from certattn.kernel.decide.obligation import DOUBLE, Part
from certattn.kernel.decide.proof import Answer, Outcome, Verdict
from certattn.kernel.document.certificate import Certificate, load
from certattn.kernel.document.tree import Node
from certattn.kernel.errors import GuardError, MalformedError
from certattn.kernel.mathematics.balls import working_precision
from certattn.statements.digits import RESULTS, UNPROVED, result, to_dict
from certattn.statements.reports import Obligation, Report
from certattn.statements.stopwatch import Stopwatch
from certattn.statements.trust import trust_of
from certattn.statements.wording import WORDINGS

_NAMED = "all {} obligations were asked for by name (--only); they are proved: check without it"
_PARTIAL = (
    "only {} of {} obligations were asked for (--only); these are proved, and the certificate as a whole is not checked"
)
_MOST_DIGITS = 9


def check_file(path: Path, options: CheckOptions, read: Callable[..., Certificate] = load) -> Report:
    """Read and check one certificate file. Bad input gives a `malformed` report, not an exception.

    `read` is as `load`, of what is no file of its own.
    """
    stopwatch = Stopwatch(options.watch)
    try:
        certificate = read(path, root=options.root, limits=options.limits, watch=stopwatch)
        return check_certificate(certificate, replace(options, watch=stopwatch))
    except MalformedError as error:
        return malformed_report(str(path), error)


def malformed_report(path: str, error: MalformedError) -> Report:
    place = (error.place.file, error.place.line, error.place.path)
    return Report(path, Verdict.MALFORMED, reason=str(error), place=place)


def check_certificate(certificate: Certificate, options: CheckOptions) -> Report:
    """Check a certificate that was read. Raises MalformedError where its content is not one."""
    stopwatch = options.watch if isinstance(options.watch, Stopwatch) else Stopwatch(options.watch)
    try:
        with default_floating_point():
            report = _report(check(certificate, replace(options, watch=stopwatch)), options)
        return replace(report, nanoseconds=stopwatch.nanoseconds)
    except GuardError as error:
        reason = f"{error}, and could not be made to compute as the proofs assume; check it in another process"
        return Report(certificate.path, Verdict.INCONCLUSIVE, claim=certificate.claim, reason=reason)


def _report(checked: Checked, options: CheckOptions) -> Report:
    certificate, answers, wording = checked.certificate, checked.answers, WORDINGS[checked.theorem.name]
    open_one, arithmetic = _open_one(answers), _arithmetic(answers) or checked.theorem.arithmetic
    uses = {"arrays": certificate.reading.has_arrays, "binary64": "binary64" in arithmetic}
    trust = trust_of(checked.theorem.name, checked.methods.union(name for name, used in uses.items() if used))
    return Report(
        certificate.path,
        checked.verdict,
        claim=checked.theorem.name,
        statement=wording.statement(checked.stated).words,
        digest=certificate.digest,
        sha256=certificate.sha256,
        findings=(*wording.findings(checked.stated, answers), *checked.notes),
        reason=_reason(checked, options),
        place=None if checked.verdict is Verdict.VERIFIED else _place(certificate, open_one),
        obligation=open_one,
        arithmetic=arithmetic,
        bits=checked.bits,
        rests_on=trust.to_dict(),
        counts={each: sum(result(answer) == each for answer in answers) for each in RESULTS},
        obligations=tuple(in_words(checked, answer) for answer in answers) if options.detail else (),
    )


def in_words(checked: Checked, answer: Answer) -> Obligation:
    """An obligation with its sentence, every number as text."""
    # A sentence may say what was found on the way to the sides, which is known at the precision that decided.
    with working_precision(answer.bits or DOUBLE):
        sentence = WORDINGS[checked.theorem.name].sentence(checked.stated, answer.name)
    return Obligation(to_dict(answer, sentence))


def _open_one(answers: list[Answer]) -> str:
    """The name of the first obligation that is not proved, the loudest outcome first; "" where all are."""
    first = {result(answer): answer.name for answer in reversed(answers) if answer.outcome is not Outcome.PROVED}
    return next((first[each] for each in ("refuted", UNPROVED, "undecided") if each in first), "")


def _arithmetic(answers: list[Answer]) -> str:
    """What the decisions rest on, with numbers where there is more than one."""
    used = Counter(answer.arithmetic for answer in answers if answer.arithmetic)
    if len(used) <= 1:
        return "".join(used)
    return " and ".join(f"{name} ({count})" for name, count in used.items())


def _reason(checked: Checked, options: CheckOptions) -> str:
    """Why the verdict is not `verified`, in a line."""
    names, wanted, answers = list(checked.proof.obligations), checked.wanted, checked.answers
    if checked.unread is not None:
        return f"a bug in certattn: the claim has not looked at {checked.unread.path}"
    if checked.verdict is Verdict.VERIFIED:
        return ""
    false = [answer for answer in answers if answer.outcome is Outcome.REFUTED]
    if checked.verdict is Verdict.REFUTED:
        false = [answer for answer in false if answer.part is Part.STATEMENT]
    if false:
        shown = in_words(checked, false[0])
        line = f"{shown['sentence']}: {shown['left']} {shown['relation']} {shown['right']}".strip()
        line = f"not proved: {line}" if false[0].part is Part.WITNESS else f"{line} is false"
        return line + (f" (and {len(false) - 1} more)" if len(false) > 1 else "")
    if not wanted:
        few = ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
        return f"no obligation has the name that was asked for (--only); they are {few}"
    if options.arithmetic == "binary64" and not answers:
        return "binary64 has no answer here; --arithmetic auto goes on with Arb"
    undecided = sum(answer.outcome is Outcome.UNDECIDED for answer in answers)
    if undecided:
        number = f"{undecided} obligation{'s' if undecided != 1 else ''}"
        if options.arithmetic == "binary64":
            return f"{number} still undecided in binary64; --arithmetic auto goes on with Arb"
        return f"{number} still undecided at the limit of {options.limits.max_bits} bits (--max-bits)"
    if len(answers) == len(names):
        return _NAMED.format(len(names))
    return _PARTIAL.format(len(wanted), len(names)) if len(wanted) < len(names) else "not every obligation was decided"


def _place(certificate: Certificate, name: str) -> tuple[str, int, str]:
    """File, line and key path of what the obligation of this name is about, for a message to point to."""
    place = asserted_at(certificate.asserts, name).place
    return place.file, place.line, place.path


def asserted_at(asserts: Node, name: str) -> Node:
    """The node under `asserts` that the obligation `name` is about, as far as its name tells; else `asserts`.

    `at_most[3]` is about the one key `at_most`, however deep it is; `points[1].risk` is about what is there.
    """
    first, *rest = re.findall(r"[^.\[\]]+", name) or [""]
    found = _under(asserts, first)
    if len(found) != 1:
        return asserts
    (node,) = found
    for part in rest:
        inner = node.value
        if isinstance(inner, dict) and part in inner:
            node = inner[part]
        elif isinstance(inner, list) and _is_index(part) and int(part) < len(inner):
            node = inner[int(part)]
        else:
            break
    return node


def _under(node: Node, key: str) -> list[Node]:
    """All nodes of this key in a mapping and the mappings in it."""
    if not isinstance(node.value, dict):
        return []
    return [found for each, inner in node.value.items() for found in ([inner] if each == key else _under(inner, key))]


def _is_index(part: str) -> bool:
    return part.isascii() and part.isdigit() and len(part) <= _MOST_DIGITS

"""What each verdict means and what to do about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from certattn.kernel.decide.proof import Verdict


@dataclass(frozen=True, slots=True)
class VerdictHelp:
    """A line, the meaning as docs/trust.md has it, and advice."""

    title: str
    means: str
    advice: str


VERDICTS: Mapping[Verdict, VerdictHelp] = {
    Verdict.VERIFIED: VerdictHelp(
        "The statement is proved.",
        "every obligation is proved",
        "Nothing is left to do. Compare the statement digest with the one that is published.",
    ),
    Verdict.REFUTED: VerdictHelp(
        "The statement is false.",
        "an obligation of the statement is proved false",
        "Correct the number under `asserts`, or what is given; `certattn check --explain` shows both sides of the "
        "obligation. More precision will not help.",
    ),
    Verdict.REJECTED: VerdictHelp(
        "The certificate proves nothing.",
        "the checker has no proof, whatever the precision",
        "The statement may still be true. Generate the certificate anew for a better witness, or state a weaker bound; "
        "`certattn check --explain` shows which inequality has failed.",
    ),
    Verdict.INCONCLUSIVE: VerdictHelp(
        "Nothing is decided.",
        "enclosures still overlap at the limit of precision, or time or memory ran out, or only some obligations were "
        "asked for",
        "Allow more: `--max-bits`, `--timeout`, `--memory`; check without `--only`; or state a bound that is less "
        "tight.",
    ),
    Verdict.MALFORMED: VerdictHelp(
        "The file is no certificate.",
        "this is not a certificate, or its arrays are not the ones it names",
        "The message says in which line, what was found and what was expected. `certattn schema` has the format.",
    ),
    Verdict.ERROR: VerdictHelp(
        "The check itself has failed.",
        "a bug in certattn or a crash in a library",
        "Nothing is known of the statement. Report it, with the certificate and the message.",
    ),
}

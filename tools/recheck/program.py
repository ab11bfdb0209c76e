"""A second checker of certificates. It shares nothing with certattn's kernel and needs Python alone.

    python tools/recheck [--json] [--seconds N] [--jobs N] [--root FOLDER] [--sha256 HASH] PATH...

Exit status: 0 all verified; 1 some statement is not proved, or a file is rejected; 3 none of these, but something is
not covered here; 2 wrong usage. A function of a claim returns only if everything in the file has been proved.
"""

from __future__ import annotations

import hashlib
import json
import re
import signal
import sys
import time
import zipfile
import zlib
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import arrays
import intervals
from arithmetic import binary64_exponential
from attention.caches import cache_error
from attention.heads import attention_error
from attention.tokens import output_deviation, softmax_mean
from documents import MAX_BYTES, opened
from outcomes import NotCovered, NotProved, Rejected, Undecided
from prompts.mean_squares import gradient_mean_square, output_mean_square
from prompts.observed import observed_prompt
from prompts.operators import infinite_prompt_operator
from prompts.propositions import proposition_3_1, proposition_3_4
from prompts.tails import gradient_tail, output_tail, typical_prompt
from selection.directions import selection_direction
from selection.margins import max_margin, selection_on_a_head, token_optimality
from selection.paths import joint_max_margin, regularization_path
from spectrum.limit_laws import equivalent_law, not_marchenko_pastur, spectral_distance
from spectrum.random_matrices import attention_spectrum, finite_moments, normalizer_bound, universality_bound
from spectrum.singular import linearization, singular_values
from statements import digest
from training.classes import theorem_4_3
from training.flows import flow_trajectory
from training.gaps import risk_gap
from training.rates import training_convergence
from training.risks import descent_trajectory, held_out_risk, regression_risk
from training.tubes import full_batch_descent

Claim = Callable[[dict[str, Any], dict[str, Any], Any], None]
# the functions of the claims, by chapters: arithmetic, attention, prompts, selection, training, spectrum
CHAPTERS: tuple[tuple[Claim, ...], ...] = (
    (binary64_exponential,),
    (attention_error, cache_error, output_deviation, softmax_mean),
    (infinite_prompt_operator, output_mean_square, output_tail, gradient_mean_square, gradient_tail),
    (proposition_3_1, proposition_3_4, typical_prompt, observed_prompt),
    (joint_max_margin, max_margin, regularization_path, selection_direction, selection_on_a_head, token_optimality),
    (descent_trajectory, flow_trajectory, full_batch_descent, held_out_risk, regression_risk, training_convergence),
    (risk_gap, theorem_4_3),
    (equivalent_law, finite_moments, linearization, normalizer_bound, not_marchenko_pastur, singular_values),
    (attention_spectrum, spectral_distance, universality_bound),
)
CLAIMS = {f.__name__.replace("_", "-"): f for chapter in CHAPTERS for f in chapter}
MISREAD = (ValueError, KeyError, TypeError, IndexError, AttributeError, OSError, RecursionError, OverflowError)
BROKEN = (Rejected, *MISREAD, zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, MemoryError, ZeroDivisionError)
BITS = (96, 192, 384, 768, 1536, 3072)


class TooLong(Exception):
    """The time for one certificate is over."""


def expired(*_: object) -> None:
    """What the alarm does."""
    raise TooLong


def decide(path: Path, sha256: str = "", root: Path | None = None) -> tuple[str, str]:
    """One certificate: (`verified` | `not proved` | `undecided` | `rejected` | `not covered`, why).

    Its array files lie in its folder or below, or else in `root`.
    """
    sys.set_int_max_str_digits(0)
    try:
        arrays.folder, arrays.root = path.parent, root
        top = opened(content(path, sha256))
        claim = top["claim"]
        if claim not in CLAIMS:
            raise NotCovered(f"the claim {claim}")
        why = ""
        for bits in BITS:
            intervals.P = bits
            try:
                CLAIMS[claim](top["given"], top["asserts"], top["witness"])
                return "verified", f"{bits} bits"
            except Undecided as undecided:
                why = str(undecided)
        return "undecided", f"{why} at {BITS[-1]} bits"
    except NotProved as e:
        return "not proved", str(e)
    except NotCovered as e:
        return "not covered", str(e)
    except BROKEN as e:
        return "rejected", f"{e}" if isinstance(e, Rejected) else f"{type(e).__name__}: {e}"


def content(path: Path, sha256: str = "") -> bytes:
    """The bytes of a certificate, of a regular file and of no other bytes than were asked about."""
    if not path.is_file():
        raise Rejected("no regular file: a pipe, a device, or gone")
    with path.open("rb") as file:
        data = file.read(MAX_BYTES + 1)
    if sha256 and hashlib.sha256(data).hexdigest() != sha256:
        raise Rejected("the file has other bytes than those that were asked about (--sha256)")
    return data


def check(path: Path, seconds: float = 300, sha256: str = "", root: Path | None = None) -> tuple[str, str]:
    """`decide`, and `not covered` once the time is over."""
    signal.signal(signal.SIGPROF, expired)
    signal.setitimer(signal.ITIMER_PROF, seconds)  # of the processor's time, so that a busy machine changes nothing
    try:
        return decide(path, sha256, root)
    except TooLong:
        return "not covered", f"not decided in {seconds:g} s"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def measured(path: Path, seconds: float, sha256: str, root: Path | None) -> dict[str, Any]:
    """A check as the entry of a report."""
    begin = time.process_time()
    verdict, why = check(path, seconds, sha256, root)
    took = round(time.process_time() - begin, 2)
    return {"path": str(path), "verdict": verdict, "why": why, "seconds": took, "statement": named(path)}


def named(path: Path) -> str:
    """The digest of what a file states; of what is no certificate there is none."""
    try:
        return digest(opened(content(path)))
    except BROKEN:
        return ""


def below_folder(path: Path) -> list[Path]:
    """The .yaml and .yml files in a folder and below, but for hidden ones: the same that `certattn check` takes."""
    found = (file for file in path.rglob("*") if file.suffix in (".yaml", ".yml") and not file.is_dir())
    return sorted(file for file in found if not any(part.startswith(".") for part in file.relative_to(path).parts))


def main(argv: list[str]) -> int:
    """Check files, and all certificates of folders; print a line for each and a table, or JSON. The exit status."""
    words = (__doc__ or "Without docstrings (-OO) there is no help.\n\nSee docs/second-checker.md.").strip()
    usage = words.split("\n\n")[1]
    if "-h" in argv or "--help" in argv:
        print(words)
        return 0
    as_json, numbers, paths = "--json" in argv, {"--seconds": 300, "--jobs": 1}, []
    rest, sha256, root = [x for x in argv if x != "--json"], "", None
    while rest:
        word = rest.pop(0)
        if word == "--sha256" and rest and re.fullmatch(r"[0-9a-f]{64}", rest[0]):
            sha256 = rest.pop(0)
        elif word == "--root" and rest and Path(rest[0]).is_dir():
            root = Path(rest.pop(0))
        elif word in numbers and rest and re.fullmatch(r"[1-9][0-9]{0,5}", rest[0]):
            numbers[word] = int(rest.pop(0))
        elif not word.startswith("-") and Path(word).exists():
            path = Path(word)
            files = below_folder(path) if path.is_dir() else [path]
            if not files:
                print(f"recheck: no certificates (.yaml or .yml) in {word!r}", file=sys.stderr)
                return 2
            paths += files
        else:
            behind = dict.fromkeys(numbers, "a number from 1 to 999999") | {"--root": "a folder", "--sha256": "a hash"}
            what = f"{behind[word]} belongs behind it" if word in behind else "no file, folder or option"
            print(f"recheck: {word!r}: {what}\n\n{usage}", file=sys.stderr)
            return 2
    if not paths:
        print("recheck: nothing to check; name certificates or folders of certificates", file=sys.stderr)
        return 2
    found, ask = [], partial(measured, seconds=numbers["--seconds"], sha256=sha256, root=root)
    # imported here, for a browser has no processes to share work among
    from multiprocessing import Pool

    with Pool(numbers["--jobs"]) if numbers["--jobs"] > 1 else nullcontext() as pool:
        for one in pool.imap(ask, paths) if pool else map(ask, paths):
            found.append(one)
            if not as_json:
                why = "" if one["verdict"] == "verified" else f"\n    {one['why'][:300]}"
                print(f"{one['verdict']:12} {one['path']}  {one['seconds']} s{why}", flush=True)
    verdicts = "verified", "not proved", "undecided", "rejected", "not covered"
    counts = {v: sum(f["verdict"] == v for f in found) for v in verdicts}
    if as_json:
        print(json.dumps({"certificates": found, "counts": counts}, indent=1))
    else:
        print("\n" + "\n".join(f"{n:6} {verdict}" for verdict, n in counts.items() if n))
    if counts["not proved"] or counts["undecided"] or counts["rejected"]:
        return 1
    return 3 if counts["not covered"] else 0

"""`certattn audit`."""

from __future__ import annotations

import json
import os
import re
import time
from pathlib import Path
from typing import Any

import click

# Before numpy is imported: heads are worked on side by side, and bounds of binary64 are for one thread in each product.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from certattn.audit.run import Plan, check_all, seconds_since, state_all
from certattn.audit.statements import STATES
from certattn.audit.subject import Options, open_subject
from certattn.audit.summary import SUMMARY, summary, write_summary
from certattn.audit.table import shown, table
from certattn.cli.check import find_certificates
from certattn.cli.options import format_option, goes_on, processors
from certattn.kernel.document.numbers import NumberError, parse_rational
from certattn.kernel.document.quoting import counted, listed
from certattn.kernel.errors import UsageError
from certattn.kernel.limits import DEFAULT_LIMITS
from certattn.models.weights import PRECISIONS
from certattn.provers.exact_inputs import out_of_hundred
from certattn.report.page.audits import folders_beside
from certattn.report.progress import counting
from certattn.report.text import on_one_line, paragraph, printable
from certattn.statements.reports import exit_status

EPILOG = """\b
Examples:
  certattn audit all-MiniLM-L6-v2 --text page.txt -o audit
  certattn audit model.safetensors --ids prompt.npy --tokens 128 --layers 0:2 -o audit
  certattn audit recorded.npz --causal -o audit
"""

_FILE = click.Path(path_type=Path)


@click.command(epilog=EPILOG)
@click.argument("model", metavar="MODEL", type=_FILE)
@click.option("-o", "--out", metavar="DIR", type=_FILE, required=True, help="The folder to write, or to go on with.")
@click.option(
    "--ids",
    multiple=True,
    metavar="FILE",
    type=_FILE,
    help="A prompt as token ids: .npy, or whole numbers. May be repeated.",
)
@click.option(
    "--text",
    "texts",
    multiple=True,
    metavar="FILE",
    type=_FILE,
    help="A prompt as a text, cut to what the model takes; needs tokenizers. May be repeated.",
)
@click.option("--tokenizer", metavar="FILE", type=_FILE, help="tokenizer.json; the one beside the model by default.")
@click.option("--tokens", metavar="N", type=click.IntRange(1), help="Take the first N tokens of each prompt.")
@click.option("--layers", metavar="A:B or A,B", help="Layers to audit, counted from 0; all by default.")
@click.option("--heads", metavar="A:B or A,B", help="Heads of each layer; all by default.")
@click.option(
    "--state",
    "states",
    multiple=True,
    type=click.Choice(list(STATES)),
    help="What to state; all by default. May be repeated.",
)
@click.option(
    "--probability",
    metavar="DELTA",
    default="0.01",
    show_default=True,
    help="For prompt lengths: how rarely random prompts are farther off.",
)
@click.option(
    "--dtype",
    type=click.Choice(PRECISIONS),
    default=PRECISIONS[0],
    show_default=True,
    help="Floats of the forward pass.",
)
@click.option("--causal", is_flag=True, help="Recorded heads: query i sees the first i + 1 tokens.")
@click.option("--scale", metavar="S", help="Recorded heads: factor of the scores; 1/sqrt(d) by default.")
@click.option("--jobs", "-j", metavar="N", type=click.IntRange(1), help="Processes; one per processor by default.")
@click.option("--check/--no-check", default=True, help="Whether to check all certificates at the end; the default.")
@format_option
def audit(
    model: Path,
    out: Path,
    ids: tuple[Path, ...],
    texts: tuple[Path, ...],
    tokenizer: Path | None,
    tokens: int | None,
    layers: str | None,
    heads: str | None,
    states: tuple[str, ...],
    probability: str,
    dtype: str,
    causal: bool,
    scale: str | None,
    jobs: int | None,
    check: bool,
    form: str,
) -> int:
    """State, and prove, what the heads of a transformer do on given prompts.

    MODEL is a folder with config.json and model.safetensors (or its index), a .safetensors file with config.json beside
    it, or a .npz file with recorded heads: layer0.queries, layer0.keys, layer0.values and so on. For every head there
    is a folder with its arrays and certificates in DIR, and audit.json sums them up. Heads that are complete are kept
    when the same command is given again.
    """
    wanted = [state for state in STATES if state in states or not states]
    plan = Plan(
        indices(layers, "--layers"), indices(heads, "--heads"), wanted, require_share(probability), jobs or processors()
    )
    subject = open_subject(model, Options(ids, texts, tokenizer, tokens, dtype, causal, scale))
    require_out(out, model)
    out.mkdir(exist_ok=True)
    start, reports = time.monotonic(), []
    with goes_on():
        found = state_all(out, subject, plan, counting("heads stated"))
        seconds = {"state": seconds_since(start), "check": 0.0}
        start = time.monotonic()
        if check:
            reports = check_all(out, found, plan.jobs, counting("certificates checked"))
            seconds["check"] = seconds_since(start)
    result = summary(subject, plan.probability, found, seconds, checked=check)
    write_summary(out, result)
    say_others(out, found)
    certificates = sum(len(statement["certificates"]) for head in found for statement in head["statements"])
    if form == "json":
        click.echo(json.dumps(result))
    else:
        click.echo("\n".join(table(result)))
        proved = f"{sum(r.verdict.value == 'verified' for r in reports)} verified" if check else "not checked"
        for title, paragraphs in shown(result):
            if title and paragraphs:
                click.echo(f"{title}:")
            for said in paragraphs:
                click.echo("\n".join(paragraph(printable(said), "  " * bool(title))))
        about = f"{counted(certificates, 'certificate')} about {counted(len(found), 'head')}"
        click.echo(f"{about}, {proved}: {out / SUMMARY}")
    # Of no certificate at all nothing is proved, checked or not.
    return exit_status(reports) if check or not certificates else 0


def require_out(out: Path, model: Path) -> None:
    """Raises UsageError for a folder that cannot be made, or that is the model's own."""
    if out.exists() and not out.is_dir():
        raise UsageError(f"{out}: exists and is not a folder; choose another name for -o")
    if not out.parent.is_dir():
        raise UsageError(f"{out.parent}: no such folder")
    home = model if model.is_dir() else model.parent
    if model.suffix != ".npz" and out.exists() and out.samefile(home):
        raise UsageError(f"{out}: the folder of the model; choose another name for -o")


def say_others(out: Path, heads: list[dict[str, Any]]) -> None:
    """On the error stream, where certificates in the folder are no part of this audit: other commands count them."""
    certificates = any(statement["certificates"] for head in heads for statement in head["statements"])
    files = find_certificates((str(out),)) if certificates else []
    if others := folders_beside(out, heads, files):
        what = f"certificates in {counted(len(others), 'folder')} of {out} that are not part of this audit"
        said = f"{what}: {listed(others)}; `check` and `report` of the folder count them; remove what you do not want"
        click.echo(f"certattn: {on_one_line(said)}", err=True)


def indices(text: str | None, option: str) -> list[int] | None:
    """0:3 or 0,2,5. Raises UsageError."""
    if text is None:
        return None
    if span := re.fullmatch(r"(\d{1,6}):(\d{1,6})", text):
        found = list(range(int(span[1]), int(span[2])))
    elif re.fullmatch(r"\d{1,6}(,\d{1,6})*", text):
        found = [int(part) for part in text.split(",")]
    else:
        found = []
    if not found:
        raise UsageError(f"{option} is {text!r}, expected such as 0:3 or 0,2,5")
    return found


def require_share(text: str) -> str:
    """A number above 0 and below 1. Raises UsageError."""
    text = out_of_hundred(text)
    try:
        inside = 0 < parse_rational(text, DEFAULT_LIMITS) < 1
    except NumberError:
        inside = False
    if inside is not True:
        raise UsageError(f"--probability is {text!r}, expected a number above 0 and below 1")
    return text

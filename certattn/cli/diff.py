"""`certattn diff`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from certattn.cli.options import format_option, reading_limits, root_option, take_limits
from certattn.kernel.document.certificate import Certificate
from certattn.report.text import on_one_line

EPILOG = """\b
Examples:
  certattn diff old.yaml new.yaml
  git show HEAD~1:cert.yaml > old.yaml; certattn diff old.yaml cert.yaml --root .

\b
Exit status: 0 the same statement; 1 another one; 2 malformed or usage.
"""


@click.command(epilog=EPILOG)
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="NEW")
@format_option
@root_option
@reading_limits
def diff(old: str, new: str, form: str, root: Path | None, **limits: Any) -> int:
    """Say how two certificates differ, and whether they state the same.

    Numbers are compared by value, arrays by hash. Nothing is proved: `certattn check` does that.
    """
    from certattn.kernel.decide.checker import theorem_of
    from certattn.kernel.document.certificate import load
    from certattn.report.comparison import SAME, compare, differences

    allowed = take_limits(limits)
    loaded: list[Certificate] = [load(path, root=root, limits=allowed) for path in (old, new)]
    for certificate in loaded:
        theorem_of(certificate).read(certificate)
    comparison = compare(*loaded)
    if form == "json":
        sides = {name: {"path": c.path, "digest": c.digest} for name, c in zip(("old", "new"), loaded, strict=True)}
        click.echo(json.dumps({**sides, **comparison.to_dict()}, indent=2))
    else:
        lines = differences(comparison)
        lines += [f"  {change.path}: changed, which does not change the statement" for change in comparison.hints]
        lines += [f"  old {loaded[0].digest}", f"  new {loaded[1].digest}"]
        click.echo("\n".join(map(on_one_line, lines)))
    return 0 if comparison.statement == SAME else 1

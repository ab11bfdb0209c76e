"""`certattn plot`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from certattn.cli.options import checking_limits, root_option, take_limits
from certattn.report.text import on_one_line, text_of

EPILOG = """\b
Examples:
  certattn plot cert.yaml -o cert.svg
  certattn plot cert.yaml --check -o cert.png

\b
Exit status: with --check that of `certattn check`; nothing is drawn of what is not verified.
"""


@click.command(epilog=EPILOG)
@click.argument("certificate", metavar="CERT")
@click.option(
    "-o",
    "--out",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="The picture to write; .svg, .png or .pdf.",
)
@click.option("--check", is_flag=True, help="Check it first; draw it only where it is verified.")
@root_option
@checking_limits
def plot(certificate: str, out: Path, check: bool, root: Path | None, **limits: Any) -> int:
    """Draw what a certificate states.

    A picture shows the bounds as they stand in the file, and beside them what is computed in doubles. Without --check
    it says that nothing was checked. It needs matplotlib: pip install matplotlib.
    """
    from certattn.isolation.worker import check_files
    from certattn.kernel.decide.checker import CheckOptions
    from certattn.kernel.decide.proof import Verdict
    from certattn.kernel.document.certificate import load
    from certattn.kernel.errors import UsageError
    from certattn.provers.figures import require_figure
    from certattn.provers.output import require_place
    from certattn.provers.plots import draw
    from certattn.statements.reports import exit_status

    require_place(out, certificate)
    options = CheckOptions(take_limits(limits), root)
    loaded = load(certificate, root=root, limits=options.limits)
    require_figure(out)
    if not check:
        draw(loaded, out)
        click.echo(f"drew {on_one_line(str(out))}; a picture is not a proof")
        return 0
    (report,) = check_files([Path(certificate)], options)
    if report.verdict is not Verdict.VERIFIED:
        click.echo(text_of(report, color=False), nl=False)
        return exit_status([report])
    if report.digest != loaded.digest:
        raise UsageError(f"{certificate}: changed while it was checked; try again")
    draw(loaded, out, checked=True)
    click.echo(f"verified, and drew {on_one_line(str(out))}")
    return 0

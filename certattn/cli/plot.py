"""`certattn plot`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from certattn.cli.options import reading_limits, root_option, take_limits
from certattn.report.text import on_one_line

EPILOG = """\b
Examples:
  certattn plot cert.yaml -o cert.svg
  certattn plot cert.yaml -o cert.png
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
@root_option
@reading_limits
def plot(certificate: str, out: Path, root: Path | None, **limits: Any) -> None:
    """Draw what a certificate states.

    Nothing is checked: a picture shows the bounds as they stand in the file, and beside them what is computed in
    doubles.
    """
    from certattn.kernel.checker import claim_of
    from certattn.kernel.document.certificate import load
    from certattn.provers.figures import require_figure
    from certattn.provers.output import require_place
    from certattn.provers.plots import draw, require_picture

    require_place(out, [Path(certificate)])
    loaded = load(certificate, root=root, limits=take_limits(limits))
    require_picture(claim_of(loaded).name)
    require_figure(out)
    draw(loaded, out)
    click.echo(f"drew {on_one_line(str(out))}; nothing is checked by that")

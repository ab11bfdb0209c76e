"""`certattn schema`."""

from __future__ import annotations

import json

import click

EPILOG = """\b
Example (VS Code with the YAML extension: point a file at it in its first line):
  certattn schema > certattn.schema.json
  # yaml-language-server: $schema=certattn.schema.json
"""


@click.command(epilog=EPILOG)
@click.option(
    "--of",
    "what",
    type=click.Choice(["certificates", "reports"]),
    default="certificates",
    show_default=True,
    help="Certificates, or what `check --format json` prints.",
)
def schema(what: str) -> None:
    """Print the JSON Schema of certificates, for editors, or of JSON reports."""
    from certattn.report.json_schema import json_schema
    from certattn.report.report_schema import report_schema

    click.echo(json.dumps(json_schema() if what == "certificates" else report_schema(), indent=2))

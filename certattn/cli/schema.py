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
def schema() -> None:
    """Print the JSON Schema of the certificate format, for editors."""
    from certattn.report.json_schema import json_schema

    click.echo(json.dumps(json_schema(), indent=2))

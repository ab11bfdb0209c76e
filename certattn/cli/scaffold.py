"""The files that `certattn init` writes, as text."""

from __future__ import annotations

import shlex

FOLDER = "certificates"

_EXAMPLE = """\
# Attention over an infinite prompt of Gaussian tokens is an affine map. Prove it: certattn check
certattn: 1
claim: infinite-prompt-operator
given:
  law: {kind: gaussian, mean: [1/3], covariance: [[2]]}
  V: [[-1]]
asserts:
  operator: {matrix: [[-2]], offset: [-1/3]}
provenance:
  note: an example, to be replaced
"""

HOOK = f"""\
- repo: local
  hooks:
  - id: certattn-check
    name: certattn check
    entry: certattn check
    language: system
    files: ^{FOLDER}/.*\\.ya?ml$
    require_serial: true
"""

_GITHUB = """\
name: certificates
on: [push, pull_request]
permissions: {{contents: read}}
jobs:
  certattn:
    runs-on: ubuntu-latest
    steps:
    - uses: actions/checkout@v4
    - uses: actions/setup-python@v5
      with: {{python-version: "3.12"}}
    - run: |
        pip install {requirement}
    - run: |
        certattn check {folder} --format github --report "markdown=$GITHUB_STEP_SUMMARY"
"""

_GITLAB = """\
certificates:
  image: python:3.12
  script:
  - |
    pip install {requirement}
  - certattn check {folder} --report junit=certattn.xml
  artifacts:
    when: always
    reports:
      junit: certattn.xml
"""

_CI = {"github": (".github/workflows/certattn.yml", _GITHUB), "gitlab": (".gitlab-ci.yml", _GITLAB)}
CI_SYSTEMS = tuple(_CI)


def files(ci: str | None, requirement: str) -> dict[str, str]:
    """Path in the repository to content; `requirement` is what pip installs in the CI system `ci`, if there is one."""
    content = {
        f"{FOLDER}/example.yaml": _EXAMPLE,
        ".pre-commit-config.yaml": f"repos:\n{HOOK}",
    }
    if ci:
        path, text = _CI[ci]
        content[path] = text.format(requirement=shlex.quote(requirement), folder=FOLDER)
    return content

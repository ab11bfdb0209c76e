"""The files that `certattn init` writes, as text."""

from __future__ import annotations

import shlex

from certattn._version import SOURCE, __version__
from certattn.kernel.document.arrays import SUFFIXES

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
        certattn check {folder}{locked} --format github --report "markdown=$GITHUB_STEP_SUMMARY"
"""

_GITLAB = """\
certificates:
  image: python:3.12
  script:
  - |
    pip install {requirement}
  - certattn check {folder}{locked} --report junit=certattn.xml
  artifacts:
    when: always
    reports:
      junit: certattn.xml
"""

_CI = {"github": (".github/workflows/certattn.yml", _GITHUB), "gitlab": (".gitlab-ci.yml", _GITLAB)}
CI_SYSTEMS = tuple(_CI)
JOBS = tuple(path for path, _ in _CI.values())

ATTRIBUTES = "".join(f"*{suffix} binary\n" for suffix in SUFFIXES)

_ATTRIBUTES = f"# Certificates name arrays by their hash: git must not change line ends in them.\n{ATTRIBUTES}"

# The name alone is never installed: whoever registers it in an index would run code in the CI system.
WHEEL = f"./certattn-{__version__}-py3-none-any.whl"
REQUIREMENT = f"certattn @ git+{SOURCE}@v{__version__}" if SOURCE else WHEEL


def files(ci: str | None, requirement: str, *, locked: bool) -> dict[str, str]:
    """Path in the repository to content.

    `requirement` is what pip installs in the CI system `ci`, if there is one; `locked` says that there is a lock.
    """
    content = {
        f"{FOLDER}/example.yaml": _EXAMPLE,
        ".pre-commit-config.yaml": f"repos:\n{HOOK}",
        ".gitattributes": _ATTRIBUTES,
    }
    if ci:
        path, text = _CI[ci]
        option = " --locked" if locked else ""
        content[path] = text.format(requirement=shlex.quote(requirement), folder=FOLDER, locked=option)
    return content

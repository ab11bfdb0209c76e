"""The process that has the provers imported. It forks the processes in which certificates are generated.

No check is ever forked from it: provers need not be trusted, and what they do to their process must not reach a
verdict.
"""

from __future__ import annotations

import gc
import json
import os
import re
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from certattn.isolation.worker import bug
from certattn.kernel.decide.proof import Verdict
from certattn.kernel.errors import CertattnError, LimitExceededError, NotProvedError
from certattn.sweep.forks import done
from certattn.sweep.results import CERTIFICATE
from certattn.sweep.tasks import Settings, Task
from certattn.writing import unflushed

_OUT_OF_MEMORY = re.compile("MemoryError|allocate memory|memory allocation|out of memory|failed to map segment", re.I)


def serve(orders: int, answers: int) -> None:
    """Make what is ordered, line by line, until there are no more orders. Both are descriptors of pipes."""
    # Now, so that no process that makes certificates pays for it.
    import certattn.kernel.document.bit_patterns
    import certattn.provers
    import certattn.sweep.draws  # noqa: F401

    gc.freeze()
    with open(orders, "rb") as reader, open(answers, "wb") as writer:
        for line in reader:
            order = json.loads(line)
            task, settings = Task.from_dict(order["task"]), Settings.from_dict(order["settings"])
            answer = made(task, Path(order["folder"]), settings)
            _learn(answer.pop("imported", ()))
            writer.write(json.dumps(answer).encode("ascii") + b"\n")
            writer.flush()


def _learn(modules: Sequence[str]) -> None:
    """Import what a process had to import while it made certificates: the next one has it from its start."""
    missing = [name for name in modules if name not in sys.modules]
    for name in missing:
        with suppress(ImportError):
            import_module(name)
    if missing:
        gc.freeze()


def made(task: Task, folder: Path, settings: Settings) -> dict[str, Any]:
    """What `generate` came to within the limits, in a process of its own: a digest, or a verdict with its reason."""
    known = frozenset(sys.modules)

    def work() -> dict[str, Any]:
        # A file that a crash of the machine leaves unwritten has not the hash that its result names.
        with unflushed():
            answer = generate(task, folder)
        return {**answer, "imported": [name for name in sys.modules if name not in known]}

    outcome = done(work, settings.limits.timeout_seconds, settings.limits.memory_bytes)
    if isinstance(outcome.answer, dict):
        return outcome.answer
    if outcome.over_time:
        return _failed(Verdict.INCONCLUSIVE, outcome.reason, "time")
    if _OUT_OF_MEMORY.search(outcome.reason):
        return _out_of_memory()
    return _failed(Verdict.ERROR, outcome.reason)


def generate(task: Task, folder: Path) -> dict[str, Any]:
    """Make the certificate of a task in `folder`: its statement digest, or why there is none.

    The working folder of this process becomes `folder`, so that no message names it.
    """
    from certattn.provers import PROVERS
    from certattn.sweep.draws import drawn

    os.chdir(folder)
    try:
        arrays = {name: drawn(draw) for name, draw in task.arrays.items()}
        inputs = {**_with_draws(task.inputs), **({"source": task.source} if task.source else {})}
        if task.files:
            inputs["names"] = {**inputs["names"], **{array: path for array, (path, _) in task.files.items()}}
        inputs |= _as_taken(task.claim, arrays)
        certificate = PROVERS[task.claim](Path(CERTIFICATE), **inputs)
    except NotProvedError as error:
        return _failed(Verdict.REJECTED, str(error))
    except LimitExceededError as error:
        return _failed(Verdict.INCONCLUSIVE, str(error), "memory")
    except CertattnError as error:
        return _failed(Verdict.MALFORMED, str(error))
    except MemoryError:
        return _out_of_memory()
    except Exception as error:
        return _failed(Verdict.ERROR, bug(error))
    return {"digest": certificate.digest}


def _as_taken(claim: str, arrays: dict[str, Any]) -> dict[str, Any]:
    """Arrays as the prover takes them: by their names, or all in `arrays`."""
    import inspect

    from certattn.provers import PROVERS

    taken = inspect.signature(PROVERS[claim]).parameters.get("arrays")
    loose = taken is None or taken.kind is inspect.Parameter.VAR_KEYWORD
    return arrays if loose or not arrays else {"arrays": arrays}


def _with_draws(value: Any) -> Any:
    """Inputs in which what is to be drawn has been drawn."""
    from certattn.sweep.draws import drawn_texts

    if isinstance(value, dict):
        return drawn_texts(value) if "draw" in value else {key: _with_draws(item) for key, item in value.items()}
    return [_with_draws(item) for item in value] if isinstance(value, list) else value


def _failed(verdict: Verdict, reason: str, limit: str = "") -> dict[str, Any]:
    return {"verdict": verdict.value, "reason": reason, "limit": limit}


def _out_of_memory() -> dict[str, Any]:
    return _failed(Verdict.INCONCLUSIVE, "the memory limit was reached (--memory)", "memory")

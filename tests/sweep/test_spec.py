"""Specs and the tasks that they stand for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from certattn.sweep.draws import drawn, drawn_texts
from certattn.sweep.inputs import signature_of
from certattn.sweep.spec import Spec
from certattn.sweep.tasks import Task
from tests_sweep import MEAN, OPERATOR

Read = Callable[[str], Spec]
Refused = Callable[[str], tuple[int, str, str]]

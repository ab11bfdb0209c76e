"""Matrix products in one thread each, as heads are shared out among threads already."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def one_thread_each() -> Iterator[None]:
    """What is computed inside does not start threads of linear algebra, if the library that limits them is there.

    Without it the result is the same and takes up to ten times as long, unless OPENBLAS_NUM_THREADS is 1.
    """
    try:
        from threadpoolctl import ThreadpoolController
    except ImportError:
        yield
        return
    with ThreadpoolController().limit(limits=1, user_api="blas"):
        yield

"""Proved errors of torch's attention kernels for processors, as a table for docs/testing.md.

    python tools/torch_kernels.py

Needs torch. Queries, keys and values are normal, 8 heads of 1,024 of each in dimension 64, rounded to the type first.
"""

from __future__ import annotations

import sys
from typing import Any

from certattn.testing import attention_error

SHAPE = (1, 8, 1024, 64)


def main() -> int:
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.nn.functional import scaled_dot_product_attention as attend

    backends: dict[str, Any] = {"flash": SDPBackend.FLASH_ATTENTION, "math": SDPBackend.MATH}
    torch.manual_seed(0)
    drawn = [torch.randn(SHAPE) for _ in range(3)]
    print(f"torch {torch.__version__.partition('+')[0]}\n")
    print("| type | kernel | mask | largest error | of a row, relative | in ulps | root mean square |")
    print("|---|---|---|---|---|---|---|")
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        q, k, v = (array.to(dtype) for array in drawn)
        for name, backend in backends.items():
            for causal in (False, True):
                with sdpa_kernel(backend):
                    output = attend(q, k, v, is_causal=causal)
                found = attention_error(output, q, k, v, causal=causal)
                measured = (found.max_abs, found.max_relative, found.max_ulps, found.rms)
                shown = " | ".join(f"{each.upper:.3g}" for each in measured if each is not None)
                kind = str(dtype).removeprefix("torch.")
                print(f"| {kind} | {name} | {'causal' if causal else 'none'} | {shown} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

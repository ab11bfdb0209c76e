"""From files to exact numbers: strict YAML, a number grammar, hashed array files.

It decides what is a certificate, not what is true. It imports `mathematics` for exact matrices and roots, and numpy in
``bit_patterns`` to look at the bits of arrays.
"""

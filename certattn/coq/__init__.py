"""Statements of certificates as theorems of Coq, and the check of such theorems by Coq.

`export` writes a folder with a library of proved lemmas, the numbers of one certificate, and the theorem; `check`
has Coq prove it, and compares the numbers that Coq has read with those of the certificate. The library in `library`
is compiled from source at each check.
"""

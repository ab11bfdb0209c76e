#!/bin/sh
# Proves the theorem of Instance.v with Coq alone, and prints it with the axioms that it rests on. Fails where a file is
# not the one that was exported, where Coq does not prove the theorem, and where the proof rests on other axioms.
# It does not compare the theorem's numbers with the certificate: `certattn coq-check` does that too. Whoever could
# change the files could change this script as well: read it, it is short.
set -eu
cd "$(dirname "$0")"
fail() { echo "check.sh: $1" >&2; exit 1; }
sha256() { if command -v sha256sum > /dev/null; then sha256sum; else shasum -a 256; fi | cut -d ' ' -f 1; }
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
while read -r hash file; do
  cp "$file" "$build"
  [ "$(sha256 < "$build/${file##*/}")" = "$hash" ] || fail "$file is not the file that was exported"
done << END
{hashes}
END
cd "$build"
unset COQPATH COQLIB
for module in {modules}; do
  coqc -q -Q . CertAttn "$module.v" || fail "the library does not compile ($module.v): is coq-interval installed?"
done
coqc -q -Q . CertAttn Instance.v || fail "Instance.v is not proved by Coq"
cat > Ask.v << END
{header}From CertAttn Require Import Instance.
About certificate.
Print Assumptions certificate.
END
coqc -q -Q . CertAttn Ask.v > answer
cat answer
grep -q -e '^Axioms:$' -e '^Closed under the global context$' answer || fail "Coq did not list axioms"
awk '/^Axioms:$/ { listed = 1; next } listed && /^[^ ]/ { print $1 }' answer | while read -r axiom; do
  case $axiom in
    {axioms}) ;;
    *) fail "the proof rests on $axiom" ;;
  esac
done
echo "proved in Coq, with no axioms but those of the real numbers{machine}"

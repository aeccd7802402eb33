#!/usr/bin/env bash
# Builds a real control plane, Kueue's manager, KWOK and KubeRay's operator from Go modules, once, and runs the end-to-end
# tests on them.
# Everything listens on loopback only. `make e2e ARGS="-k admission"` hands ARGS to pytest.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

say() { echo "e2e: $*"; }
fail() {
  echo "e2e: $*" >&2
  exit 1
}

needs_go="make e2e needs Go 1.26 or later, which builds kube-apiserver, etcd, Kueue, KWOK and KubeRay: https://go.dev/dl/"
go=$(command -v go) || go=/usr/local/go/bin/go
[ -x "$go" ] || fail "$needs_go"
# GOTOOLCHAIN keeps Go from fetching another release of itself in the middle of the run.
export GOTOOLCHAIN=local GOWORK=off CGO_ENABLED=0 GOFLAGS=-buildvcs=false
version=$("$go" env GOVERSION)
case $version in
  go1.2[6-9]* | go1.[3-9][0-9]* | go[2-9]*) ;;
  *) fail "$needs_go (this one is $version)" ;;
esac
[ -x .venv/bin/pytest ] || fail "the virtual environment is missing; run \`make e2e\`, which makes it"

cache=${XDG_CACHE_HOME:-$HOME/.cache}/apportion-e2e
partial=
trap 'rm -rf "$partial"' EXIT

# built PART [ARGUMENT…]: leaves in $bin the folder that the part's build.sh fills, building it where it is missing.
# An entry is whole or absent: it is built under another name and renamed.
built() {
  local part=$1 key began=$SECONDS
  shift
  key=$(cd "tests/e2e/$part" && cat go.mod go.sum build.sh <(echo "$version") | git hash-object --stdin)
  bin=$cache/$part-$key
  [ ! -d "$bin" ] || return 0
  partial=$cache/partial-$part-$key-$$
  mkdir -p "$partial"
  # By default, Go's compiler spends a fifth of its time on garbage collection.
  GOGC=400 GOMEMLIMIT=3GiB bash "tests/e2e/$part/build.sh" "$go" "$partial" "$@" ||
    fail "the build failed; it fetches modules from GOPROXY=$("$go" env GOPROXY)"
  [ -d "$bin" ] || mv "$partial" "$bin"
  say "built in $((SECONDS - began)) s, kept in $bin"
}

built kubernetes
export APPORTION_E2E_BIN=$bin
built kueue "$bin/kubectl"
export APPORTION_E2E_KUEUE=$bin
built kwok
export APPORTION_E2E_KWOK=$bin
built kuberay
export APPORTION_E2E_KUBERAY=$bin

say "starting the control planes and running the tests"
# The last -m counts: ARGS="-m 'e2e and slow'" runs the others.
# ARGS is read as a shell reads it, quotes included, as in the other targets of the Makefile.
eval "set -- ${ARGS:-}"
# Two workers, because the tests wait for controllers as long as they compute; tests/e2e/distribution.py groups them.
.venv/bin/pytest -m "e2e and not slow" tests/e2e -n 2 --durations=5 "$@"
# A selection of tests ends here; the second attempt of `.ci/run` does not.
case ${1:-} in
  "" | --last-failed) ;;
  *) exit 0 ;;
esac

say "running the benchmark beside kube-scheduler once on small input, without time limits"
exec .venv/bin/pytest -n0 -m bench --bench-smoke tests/benchmarks/test_bench_live_load.py -k "beside and 1000"

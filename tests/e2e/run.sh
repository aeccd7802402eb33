#!/usr/bin/env bash
# Builds a real control plane from the Go modules that kubernetes/go.mod pins, once, and runs the end-to-end tests on it.
# Everything listens on loopback only. `make e2e ARGS="-k admission"` hands ARGS to pytest.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

say() { echo "e2e: $*"; }
fail() {
  echo "e2e: $*" >&2
  exit 1
}

needs_go="make e2e needs Go 1.26 or later, which builds kube-apiserver and etcd: https://go.dev/dl/"
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

module=tests/e2e/kubernetes
# A cache entry is whole or absent: it is built under another name and renamed. This script is part of its key,
# because it holds the flags of the build.
key=$(cat $module/go.mod $module/go.sum tests/e2e/run.sh <(echo "$version") | git hash-object --stdin)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/apportion-e2e
bin=$cache/$key

build() {
  local flags=$1 output=$2
  shift 2
  (cd $module && nice -n 10 "$go" build -mod=readonly -trimpath -ldflags "-s -w $flags" -o "$output" "$@") ||
    fail "the build failed; it fetches modules from GOPROXY=$("$go" env GOPROXY)"
}

if [ ! -d "$bin" ]; then
  began=$SECONDS
  partial=$cache/partial-$key-$$
  mkdir -p "$partial"
  trap 'rm -rf "$partial"' EXIT
  kubernetes=$(sed -n 's/^[[:space:]]*k8s\.io\/kubernetes \(v[0-9.]*\).*/\1/p' $module/go.mod)
  minor=${kubernetes#v1.}
  package=k8s.io/component-base/version
  say "building etcd and Go's generator of certificates (half a minute)"
  build "" "$partial/etcd" go.etcd.io/etcd/server/v3
  # Go ships this program as source; it makes the certificate and the keys of the API server.
  build "" "$partial/generate_cert" "$("$go" env GOROOT)/src/crypto/tls/generate_cert.go"
  say "building kube-apiserver, kube-controller-manager and kubectl $kubernetes (about six minutes on two cores; kept in $cache)"
  # Without a version at link time the API server says v0.0.0, which clients cannot read.
  build "-X $package.gitVersion=$kubernetes -X $package.gitMajor=1 -X $package.gitMinor=${minor%%.*}" "$partial/" \
    k8s.io/kubernetes/cmd/kube-apiserver k8s.io/kubernetes/cmd/kube-controller-manager k8s.io/kubernetes/cmd/kubectl
  [ -d "$bin" ] || mv "$partial" "$bin"
  say "built in $((SECONDS - began)) s"
fi

say "starting the control plane and running the tests"
export APPORTION_E2E_BIN=$bin
# ARGS is read as a shell reads it, quotes included, as in the other targets of the Makefile.
eval "set -- ${ARGS:-}"
exec .venv/bin/pytest -m e2e tests/e2e --durations=5 "$@"

#!/usr/bin/env bash
# Builds Kueue's manager from the module that go.mod pins, and writes beside it what the module installs on a cluster:
# build.sh GO FOLDER KUBECTL. The folder gets `kueue` and `install.yaml`.
set -euo pipefail
go=$1
out=$2
kubectl=$3
cd "$(dirname "${BASH_SOURCE[0]}")"

module=sigs.k8s.io/kueue
"$go" mod download "$module"
kueue=$("$go" list -mod=readonly -m -f '{{.Dir}}' "$module")
version=$(sed -n 's/^.*sigs\.k8s\.io\/kueue \(v[0-9.]*\).*/\1/p' go.mod)

# The manager reads the certificate of its metrics from a fixed folder under /etc, which only root may write: that one
# path becomes a folder where it is started. Its main package is otherwise built as it is.
fixed='"/etc/kueue/metrics/certs"'
sources=$(mktemp -d)
trap 'rm -rf "$sources"' EXIT
sed "s|$fixed|\"certificates\"|" "$kueue/cmd/kueue/main.go" >"$sources/main.go"
if grep -qF "$fixed" "$sources/main.go" || ! grep -qF '"certificates"' "$sources/main.go"; then
  echo "e2e: $kueue/cmd/kueue/main.go no longer reads $fixed; see tests/e2e/kueue/build.sh" >&2
  exit 1
fi
printf '{"Replace": {"%s": "%s"}}' "$PWD/main.go" "$sources/main.go" >"$sources/overlay.json"
echo "e2e: building Kueue's manager $version (about five minutes on two cores)"
nice -n 10 "$go" build -mod=readonly -trimpath -overlay "$sources/overlay.json" \
  -ldflags "-s -w -X $module/pkg/version.GitVersion=$version" -o "$out/kueue" .

"$kubectl" kustomize "$kueue/config/default" >"$out/install.yaml"

#!/usr/bin/env bash
# Builds Kueue's manager from the module that go.mod pins, and writes beside it what the module installs on a cluster:
# build.sh GO FOLDER KUBECTL. The folder gets `kueue`, `install.yaml`, and the definitions of other operators' jobs.
set -euo pipefail
go=$1
out=$2
kubectl=$3
cd "$(dirname "${BASH_SOURCE[0]}")"

# A module's folder in Go's module cache.
source_of() {
  "$go" mod download "$1"
  "$go" list -mod=readonly -m -f '{{.Dir}}' "$1"
}

kueue=$(source_of sigs.k8s.io/kueue)
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
  -ldflags "-s -w -X sigs.k8s.io/kueue/pkg/version.GitVersion=$version" -o "$out/kueue" .

"$kubectl" kustomize "$kueue/config/default" >"$out/install.yaml"
jobs=$out/jobs
mkdir "$jobs"
jobset=$(source_of sigs.k8s.io/jobset)
cp "$jobset/config/components/crd/bases/jobset.x-k8s.io_jobsets.yaml" "$jobs"
training=$(source_of github.com/kubeflow/training-operator)
cp "$training"/manifests/base/crds/kubeflow.org_{pytorchjobs,tfjobs}.yaml "$jobs"
mpi=$(source_of github.com/kubeflow/mpi-operator)
cp "$mpi/manifests/base/kubeflow.org_mpijobs.yaml" "$jobs"
chmod u+w "$jobs"/*

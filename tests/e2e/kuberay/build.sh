#!/usr/bin/env bash
# Builds KubeRay's operator from the module that go.mod pins, and writes beside it the permissions of the module: build.sh GO
# FOLDER. The folder gets `ray-operator` and `role.yaml`.
set -euo pipefail
go=$1
out=$2
cd "$(dirname "${BASH_SOURCE[0]}")"

module=github.com/ray-project/kuberay/ray-operator
"$go" mod download "$module"
kuberay=$("$go" list -mod=readonly -m -f '{{.Dir}}' "$module")
version=$(sed -n 's/^.*kuberay\/ray-operator \(v[0-9.]*\).*/\1/p' go.mod)
echo "e2e: building KubeRay's operator $version (about three minutes on two cores)"
nice -n 10 "$go" build -mod=readonly -trimpath -ldflags "-s -w" -o "$out/ray-operator" "$module"
cp "$kuberay/config/rbac/role.yaml" "$out/role.yaml"
chmod u+w "$out/role.yaml"

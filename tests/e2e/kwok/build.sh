#!/usr/bin/env bash
# Builds KWOK's controller from the module that go.mod pins, and writes beside it the stages of the module: build.sh GO FOLDER.
# The folder gets `kwok` and `stages.yaml`, which makes nodes ready, and pods run, complete and end.
set -euo pipefail
go=$1
out=$2
cd "$(dirname "${BASH_SOURCE[0]}")"

module=sigs.k8s.io/kwok
"$go" mod download "$module"
kwok=$("$go" list -mod=readonly -m -f '{{.Dir}}' "$module")
version=$(sed -n 's/^.*sigs\.k8s\.io\/kwok \(v[0-9.]*\).*/\1/p' go.mod)
echo "e2e: building KWOK $version (about two minutes on two cores)"
nice -n 10 "$go" build -mod=readonly -trimpath -ldflags "-s -w" -o "$out/kwok" "$module/cmd/kwok"

for stage in "$kwok"/kustomize/stage/{node,pod}/fast/[!k]*.yaml; do
  echo "---"
  cat "$stage"
done >"$out/stages.yaml"

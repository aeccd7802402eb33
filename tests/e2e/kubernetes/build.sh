#!/usr/bin/env bash
# Builds the control plane from the modules that go.mod pins: build.sh GO FOLDER.
set -euo pipefail
go=$1
out=$2
cd "$(dirname "${BASH_SOURCE[0]}")"

build() {
  local flags=$1
  shift
  nice -n 10 "$go" build -mod=readonly -trimpath -ldflags "-s -w $flags" -o "$@"
}

kubernetes=$(sed -n 's/^[[:space:]]*k8s\.io\/kubernetes \(v[0-9.]*\).*/\1/p' go.mod)
minor=${kubernetes#v1.}
package=k8s.io/component-base/version
echo "e2e: building etcd and Go's generator of certificates (half a minute)"
build "" "$out/etcd" go.etcd.io/etcd/server/v3
# Go ships this program as source; it makes the certificates and the keys of the servers.
build "" "$out/generate_cert" "$("$go" env GOROOT)/src/crypto/tls/generate_cert.go"
echo "e2e: building kube-apiserver, kube-controller-manager, kube-scheduler and kubectl $kubernetes (about seven minutes on two cores)"
# Without a version at link time the API server says v0.0.0, which clients cannot read.
build "-X $package.gitVersion=$kubernetes -X $package.gitMajor=1 -X $package.gitMinor=${minor%%.*}" "$out/" \
  k8s.io/kubernetes/cmd/kube-apiserver k8s.io/kubernetes/cmd/kube-controller-manager \
  k8s.io/kubernetes/cmd/kube-scheduler k8s.io/kubernetes/cmd/kubectl

//go:build tools

// Package tools pins the API server of Kubernetes 1.31.
package tools

import _ "k8s.io/kubernetes/cmd/kube-apiserver"

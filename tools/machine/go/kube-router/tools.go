//go:build tools

// Package tools pins kube-router, which enforces NetworkPolicy in the test cluster.
package tools

import _ "github.com/cloudnativelabs/kube-router/v2/cmd/kube-router"

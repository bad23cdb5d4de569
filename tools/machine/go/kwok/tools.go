//go:build tools

// Package tools pins what plays the kubelet of nodes that run no container.
package tools

import _ "sigs.k8s.io/kwok/cmd/kwok"

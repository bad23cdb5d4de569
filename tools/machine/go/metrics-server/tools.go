//go:build tools

// Package tools pins what measures the CPU and memory that pods use.
package tools

import _ "sigs.k8s.io/metrics-server/cmd/metrics-server"

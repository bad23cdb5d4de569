//go:build tools

// Package tools pins the controller of JobSet, a peer of benchmarks.
package tools

import _ "sigs.k8s.io/jobset"

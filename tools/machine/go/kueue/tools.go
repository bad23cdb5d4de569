//go:build tools

// Package tools pins Kueue, the queue that docs/scheduling.md speaks of.
package tools

import _ "sigs.k8s.io/kueue/cmd/kueue"

//go:build tools

// Package tools pins what reads a training's metrics in tests: the server, and the checker of its rules.
package tools

import (
	_ "github.com/prometheus/prometheus/cmd/prometheus"
	_ "github.com/prometheus/prometheus/cmd/promtool"
)

//go:build tools

// Package tools pins the coscheduling scheduler, the gang of which the chart's pods may be.
package tools

import (
	_ "sigs.k8s.io/scheduler-plugins/cmd/scheduler"
)

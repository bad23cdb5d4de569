//go:build tools

// Package tools pins the operator of TFJob, the peer that a benchmark compares with.
package tools

import (
	_ "github.com/kubeflow/training-operator/cmd/training-operator.v1"
)

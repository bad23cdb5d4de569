//go:build tools

// Package tools pins Argo CD: one program, whose role is its name or ARGOCD_BINARY_NAME.
package tools

import _ "github.com/argoproj/argo-cd/v3/cmd"

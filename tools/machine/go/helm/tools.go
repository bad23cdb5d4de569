//go:build tools

// Package tools pins Helm; the tests render and install the chart with it.
package tools

import _ "helm.sh/helm/v4/cmd/helm"

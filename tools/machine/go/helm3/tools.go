//go:build tools

// Package tools pins Helm 3; the tests render and install the chart with it, too.
package tools

import _ "helm.sh/helm/v3/cmd/helm"

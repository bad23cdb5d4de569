//go:build tools

// Package tools pins the Ingress controller and Gateway of docs/tensorboard.md.
package tools

import _ "github.com/traefik/traefik/v3/cmd/traefik"

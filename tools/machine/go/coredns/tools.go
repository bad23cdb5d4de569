//go:build tools

// Package tools pins CoreDNS, the test cluster's name server.
package tools

import _ "github.com/coredns/coredns"

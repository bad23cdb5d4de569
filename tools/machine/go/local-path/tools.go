//go:build tools

// Package tools pins the provisioner behind the test cluster's default StorageClass.
package tools

import _ "github.com/rancher/local-path-provisioner"

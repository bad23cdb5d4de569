// CoreDNS with the plugins that dns.yaml's Corefile names: those of clouds take most of its build.
package main

import (
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"

	_ "github.com/coredns/coredns/plugin/cache"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/metrics"
	_ "github.com/coredns/coredns/plugin/ready"
	_ "github.com/coredns/coredns/plugin/template"
)

func main() {
	// Each sees a question before those after it, in CoreDNS's own order.
	dnsserver.Directives = []string{"ready", "prometheus", "errors", "cache", "template", "kubernetes"}
	coremain.Run()
}

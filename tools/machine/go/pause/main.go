// Command pause holds a pod's namespaces open: it is the first process of every
// pod of the test cluster, reaps orphans where the pod shares its process
// namespace, and ends when the kubelet asks it to.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGCHLD, syscall.SIGINT, syscall.SIGTERM)
	for received := range signals {
		if received != syscall.SIGCHLD {
			return
		}
		for {
			reaped, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
			if err != nil || reaped <= 0 {
				break
			}
		}
	}
}

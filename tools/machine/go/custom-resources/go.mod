// The modules whose files tools/machine/custom_resources.py applies. Nothing is built of them, so `go mod tidy`
// would take them out: change a version here and run `go mod download`, which writes go.sum.
module tf-cluster.test/tools/custom-resources

go 1.26.0

require (
	github.com/prometheus-operator/prometheus-operator v0.91.0
	sigs.k8s.io/gateway-api v1.6.3
	sigs.k8s.io/scheduler-plugins v0.33.5
	volcano.sh/volcano v1.15.1
)

// The lowest Kubernetes that the chart is for (kubeVersion in Chart.yaml): tools/chart/kubernetes_types.py reads its
// OpenAPI. Nothing is built of it, so `go mod tidy` would take it out: change the version here and run
// `go mod download`, which writes go.sum.
module tf-cluster.test/tools/kubernetes-lowest

go 1.26.0

require k8s.io/kubernetes v1.28.15

module tf-cluster.test/tools/pause

go 1.26

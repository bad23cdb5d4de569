{{- /* The fast loader keeps to the files that it has seen first; without it, new runs appear while it runs. */ -}}
{{- define "tf-cluster.tensorboard.page" -}}
{{- $values := .root.Values.tensorboard -}}
{{- $logdir := $values.logdir | default (printf "/log/%s" (include "tf-cluster.fullname" .root)) -}}
{{- $args := list "--load_fast=false" "--bind_all" (printf "--port=%s" (include "tf-cluster.port.tensorboard" .)) -}}
{{- $args = append $args (printf "--reload_interval=%d" (int64 $values.reloadSeconds)) -}}
{{- with $values.pathPrefix -}}{{- $args = append $args (printf "--path_prefix=%s" .) -}}{{- end -}}
args: {{ prepend $args (printf "--logdir=%s" $logdir) | toJson }}
{{- end -}}

{{- /*
An attempt is one set of objects that works on a run. Its hash covers everything whose change needs new pods: the
ConfigMap, the whole spec of each training Job and of a ps Deployment, and run.attempt. All are rendered with a
placeholder in place of the hash. One ps stands for all: they differ only in their index, and the ConfigMap says how
many there are.

The hash is made of parsed values, as JSON: a chart that only indents or quotes in another way restarts nothing.

The hash does not cover the objects' metadata, the claims, the NetworkPolicies, the evaluator and cleanup: a change of
those restarts no training. The Jobs of evaluator and cleanup have a second hash of their own spec.
*/ -}}
{{- define "tf-cluster.attempt" -}}
{{- $draft := "00000000" -}}
{{- $attempt := dict "root" . "attempt" $draft -}}
{{- $parts := list (include "tf-cluster.config.cluster" $attempt | fromJson) -}}
{{- $parts = append $parts (include "tf-cluster.config.training" $attempt | fromJson) -}}
{{- $worker := dict "root" . "attempt" $draft "role" (include "tf-cluster.role" "worker" | fromJson) -}}
{{- $parts = append $parts (include "tf-cluster.worker.spec" $worker | fromYaml) -}}
{{- if eq (include "tf-cluster.client" .) "chief" -}}
{{- $chief := dict "root" . "attempt" $draft "role" (include "tf-cluster.role" "chief" | fromJson) -}}
{{- $parts = append $parts (include "tf-cluster.chief.spec" $chief | fromYaml) -}}
{{- end -}}
{{- if ne (include "tf-cluster.ps.count" .) "0" -}}
{{- $ps := dict "root" . "attempt" $draft "role" (include "tf-cluster.role" "ps" | fromJson) "index" 0 -}}
{{- $parts = append $parts (include "tf-cluster.ps.spec" $ps | fromYaml) -}}
{{- end -}}
{{- append $parts (int64 .Values.run.attempt) | toJson | sha256sum | trunc 8 -}}
{{- end -}}

{{- /* The headless Service that gives the attempt's tasks their addresses. */ -}}
{{- define "tf-cluster.service.name" -}}
{{- printf "%s-%s" (include "tf-cluster.fullname" .root) .attempt -}}
{{- end -}}

{{- /* The name of an attempt's object. Takes a list: a word, then the context. */ -}}
{{- define "tf-cluster.attempt.name" -}}
{{- $context := last . -}}
{{- printf "%s-%s-%s" (include "tf-cluster.fullname" $context.root) (first .) $context.attempt -}}
{{- end -}}

{{- /* The Job of the task that drives the run. */ -}}
{{- define "tf-cluster.client.name" -}}
{{- include (printf "tf-cluster.%s.name" (include "tf-cluster.client" .root)) . -}}
{{- end -}}

{{- /* Labels that the attempt's tasks have: chief, workers, ps and evaluator, not cleanup. */ -}}
{{- define "tf-cluster.attempt.tasks" -}}
{{- include "tf-cluster.identity" .root }}
tf-cluster.io/attempt: {{ .attempt | quote }}
{{- end -}}

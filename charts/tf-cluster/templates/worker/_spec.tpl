{{- /*
The pods of an Indexed Job are alike. So without a chief every worker gets the time that worker 0 needs to save.
*/ -}}
{{- define "tf-cluster.worker.spec" -}}
{{- $grace := int64 .root.Values.worker.terminationGracePeriodSeconds -}}
{{- if eq (include "tf-cluster.client" .root) "worker" -}}
{{- $grace = max $grace (int64 .root.Values.chief.terminationGracePeriodSeconds) -}}
{{- end -}}
{{- /* A chief that is told to end at the same time needs all workers for the step under way. */ -}}
{{- $wait := 0 -}}
{{- $combination := include "tf-cluster.combination" .root | fromJson -}}
{{- if and $combination.hasChief $combination.lockstep -}}
{{- $wait = int64 .root.Values.ps.preStopSeconds -}}
{{- $grace = add $grace $wait -}}
{{- end -}}
completionMode: Indexed
completions: {{ int64 .root.Values.worker.replicas }}
parallelism: {{ int64 .root.Values.worker.replicas }}
backoffLimit: {{ int64 .root.Values.worker.backoffLimit }}
{{- if eq .root.Values.worker.successPolicy "first" }}
successPolicy:
  rules:
    - succeededIndexes: "0"
{{- end }}
podFailurePolicy:
  {{- include "tf-cluster.podFailurePolicy" . | nindent 2 }}
template:
  {{- include "tf-cluster.pod" (merge (dict "graceSeconds" $grace "preStopSeconds" $wait) .) | nindent 2 }}
{{- end -}}

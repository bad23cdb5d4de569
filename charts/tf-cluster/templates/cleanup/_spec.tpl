{{- define "tf-cluster.cleanup.spec" -}}
{{- $args := list "--plan" (include "tf-cluster.cleanup.plan" .) -}}
backoffLimit: 20
template:
  {{- include "tf-cluster.pod" (merge (dict "serviceAccount" .names.cleanup "args" $args) .) | nindent 2 }}
{{- end -}}

{{- /* What cleanup is told: JSON, the format of trainer/cleanup's plan.py. */ -}}
{{- define "tf-cluster.cleanup.plan" -}}
{{- $values := .root.Values.cleanup -}}
{{- dict
  "client" .names.client
  "jobs" (without (list .names.worker) .names.client)
  "completions" (dict .names.worker (int64 .root.Values.worker.replicas))
  "jobsAfterFailure" (compact (list .names.evaluator))
  "deployments" .names.ps
  "workersTimeoutSeconds" $values.workersTimeoutSeconds
  "delaySeconds" (dict "success" $values.delaySeconds.success "failure" $values.delaySeconds.failure)
  | toPrettyJson -}}
{{- end -}}

{{- /*
"true" when there is a cleanup. Without parameter servers and evaluator, a training that has ended leaves nothing.
*/ -}}
{{- define "tf-cluster.hasCleanup" -}}
{{- if and .Values.cleanup.enabled (or (ne (include "tf-cluster.ps.count" .) "0") .Values.evaluator.enabled) }}true{{ end -}}
{{- end -}}

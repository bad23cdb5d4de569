{{- define "tf-cluster.cleanup.spec" -}}
{{- $account := include "tf-cluster.cleanup.name" . -}}
{{- $args := list "--plan" (include "tf-cluster.cleanup.plan" .) -}}
backoffLimit: 20
template:
  {{- include "tf-cluster.pod" (merge (dict "serviceAccount" $account "args" $args) .) | nindent 2 }}
{{- end -}}

{{- /* What cleanup is told: JSON, the format of trainer/cleanup's plan.py. */ -}}
{{- define "tf-cluster.cleanup.plan" -}}
{{- $values := .root.Values.cleanup -}}
{{- $jobs := list -}}
{{- if eq (include "tf-cluster.client" .root) "chief" -}}
{{- $jobs = list (include "tf-cluster.worker.name" .) -}}
{{- end -}}
{{- $afterFailure := list -}}
{{- if .root.Values.evaluator.enabled -}}
{{- $afterFailure = list (include "tf-cluster.evaluator.name" .) -}}
{{- end -}}
{{- dict
  "client" (include "tf-cluster.client.name" .)
  "jobs" $jobs
  "jobsAfterFailure" $afterFailure
  "deployments" (include "tf-cluster.ps.names" . | splitList " " | compact)
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

{{- /* The name of cleanup's account, Role and RoleBinding. Its Job's name has a hash added. */ -}}
{{- define "tf-cluster.cleanup.name" -}}
{{- include "tf-cluster.attempt.name" (list "cleanup" .) -}}
{{- end -}}

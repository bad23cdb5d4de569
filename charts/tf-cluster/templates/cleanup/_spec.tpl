{{- define "tf-cluster.cleanup.spec" -}}
{{- $account := include "tf-cluster.attempt.name" (merge (dict "kind" "cleanup") .) -}}
{{- $args := list "--plan" (include "tf-cluster.cleanup.plan" .) -}}
backoffLimit: 20
template:
  {{- include "tf-cluster.pod" (merge (dict "serviceAccount" $account "args" $args) .) | nindent 2 }}
{{- end -}}

{{- /* What cleanup is told: JSON, the format of trainer/cleanup's plan.py. */ -}}
{{- define "tf-cluster.cleanup.plan" -}}
{{- $values := .root.Values.cleanup -}}
{{- $deployments := list -}}
{{- range $index := until (include "tf-cluster.ps.count" .root | int) -}}
{{- $deployments = append $deployments (include "tf-cluster.ps.name" (merge (dict "index" $index) $)) -}}
{{- end -}}
{{- $client := include "tf-cluster.client" .root -}}
{{- $jobs := list -}}
{{- if eq $client "chief" -}}
{{- $jobs = list (include "tf-cluster.attempt.name" (merge (dict "kind" "worker") .)) -}}
{{- end -}}
{{- $afterFailure := list -}}
{{- if .root.Values.evaluator.enabled -}}
{{- $afterFailure = list (include "tf-cluster.evaluator.name" (dict "root" .root "attempt" .attempt)) -}}
{{- end -}}
{{- dict
  "client" (include "tf-cluster.attempt.name" (merge (dict "kind" $client) .))
  "jobs" $jobs
  "jobsAfterFailure" $afterFailure
  "deployments" $deployments
  "workersTimeoutSeconds" $values.workersTimeoutSeconds
  "delaySeconds" (dict "success" $values.delaySeconds.success "failure" $values.delaySeconds.failure)
  | toPrettyJson -}}
{{- end -}}

{{- /*
"true" when there is a cleanup: without parameter servers and evaluator a training that has ended leaves
nothing.
*/ -}}
{{- define "tf-cluster.hasCleanup" -}}
{{- if and .Values.cleanup.enabled (or (ne (include "tf-cluster.ps.count" .) "0") .Values.evaluator.enabled) }}true{{ end -}}
{{- end -}}

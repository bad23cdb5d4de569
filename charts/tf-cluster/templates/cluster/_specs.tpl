{{- /*
The `spec` of each object whose change makes a new attempt, and of the evaluator's and cleanup's Jobs. Each takes the context
of _helpers.tpl. Not here on purpose: `suspend`, a TTL and activeDeadlineSeconds of Jobs (the last one
is cleanup's to patch), and `replicas` of the Deployments (cleanup scales them to 0, for good).
*/ -}}
{{- define "tf-cluster.chief.spec" -}}
{{- $name := include "tf-cluster.attempt.name" (merge (dict "kind" "chief") .) -}}
backoffLimit: {{ int64 .root.Values.chief.backoffLimit }}
podFailurePolicy:
  {{- include "tf-cluster.podFailurePolicy" . | nindent 2 }}
template:
  {{- include "tf-cluster.pod" (merge (dict "hostname" $name "restartPolicy" "Never") .) | nindent 2 }}
{{- end -}}

{{- /*
The pods of an Indexed Job are alike, so where worker 0 is the client every worker gets the time that a
client has to save.
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
podFailurePolicy:
  {{- include "tf-cluster.podFailurePolicy" . | nindent 2 }}
template:
  {{- include "tf-cluster.pod" (merge (dict "restartPolicy" "Never" "graceSeconds" $grace "preStopSeconds" $wait) .) | nindent 2 }}
{{- end -}}

{{- define "tf-cluster.ps.spec" -}}
strategy:
  type: Recreate
selector:
  matchLabels:
    {{- include "tf-cluster.pod.labels" . | nindent 4 }}
template:
  {{- include "tf-cluster.pod" (merge (dict "hostname" (include "tf-cluster.ps.name" .) "preStopSeconds" (int64 .root.Values.ps.preStopSeconds)) .) | nindent 2 }}
{{- end -}}

{{- define "tf-cluster.evaluator.spec" -}}
backoffLimit: {{ int64 .root.Values.evaluator.backoffLimit }}
podFailurePolicy:
  {{- include "tf-cluster.podFailurePolicy" . | nindent 2 }}
template:
  {{- include "tf-cluster.pod" (merge (dict "restartPolicy" "Never") .) | nindent 2 }}
{{- end -}}

{{- define "tf-cluster.cleanup.spec" -}}
{{- $account := include "tf-cluster.attempt.name" (merge (dict "kind" "cleanup") .) -}}
{{- $args := list "--plan" (include "tf-cluster.cleanup.plan" .) -}}
backoffLimit: 20
template:
  {{- include "tf-cluster.pod" (merge (dict "serviceAccount" $account "restartPolicy" "OnFailure" "args" $args) .) | nindent 2 }}
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
Exit 2 is a configuration or program error that no retry can help. Exit 42 is a SIGTERM after which
the state was saved, and a disruption is nobody's fault: neither counts against backoffLimit.
*/ -}}
{{- define "tf-cluster.podFailurePolicy" -}}
rules:
  - action: FailJob
    onExitCodes:
      containerName: {{ .role }}
      operator: In
      values: [2]
  - action: Ignore
    onExitCodes:
      containerName: {{ .role }}
      operator: In
      values: [42]
  - action: Ignore
    onPodConditions:
      - type: DisruptionTarget
        status: "True"
{{- end -}}

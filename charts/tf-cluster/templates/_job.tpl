{{- /*
Exit 2 is a configuration or program error that no retry can help. Exit 42 is a SIGTERM after which
the state was saved, and a disruption is nobody's fault: neither counts against backoffLimit.
*/ -}}
{{- define "tf-cluster.podFailurePolicy" -}}
rules:
  - action: FailJob
    onExitCodes:
      containerName: {{ .role.name }}
      operator: In
      values: [2]
  - action: Ignore
    onExitCodes:
      containerName: {{ .role.name }}
      operator: In
      values: [42]
  - action: Ignore
    onPodConditions:
      - type: DisruptionTarget
        status: "True"
{{- end -}}

{{- /*
The deadline of the Job that drives the run. It can change while the Job runs, so it is no part of the hashed spec. The
other Jobs have none: cleanup ends them by theirs.
*/ -}}
{{- define "tf-cluster.deadline" -}}
{{- $isClient := eq (include "tf-cluster.client" .root) .role.name -}}
{{- with $isClient | ternary .root.Values.run.deadlineSeconds nil -}}
activeDeadlineSeconds: {{ int64 . }}
{{- end -}}
{{- end -}}

{{- define "tf-cluster.evaluator.spec" -}}
backoffLimit: {{ int64 .root.Values.evaluator.backoffLimit }}
podFailurePolicy:
  {{- include "tf-cluster.podFailurePolicy" . | nindent 2 }}
template:
  {{- include "tf-cluster.pod" (merge (dict "restartPolicy" "Never") .) | nindent 2 }}
{{- end -}}

{{- /* The evaluator's Job: `eval`, for a name of 40 characters leaves no more. Takes root, attempt. */ -}}
{{- define "tf-cluster.evaluator.name" -}}
{{- $spec := include "tf-cluster.evaluator.spec" (dict "root" .root "attempt" .attempt "role" "evaluator") -}}
{{- printf "%s-%s" (include "tf-cluster.attempt.name" (merge (dict "kind" "eval") .)) ($spec | fromYaml | toJson | sha256sum | trunc 4) -}}
{{- end -}}

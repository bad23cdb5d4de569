{{- define "tf-cluster.evaluator.spec" -}}
backoffLimit: {{ int64 .root.Values.evaluator.backoffLimit }}
podFailurePolicy:
  {{- include "tf-cluster.podFailurePolicy" . | nindent 2 }}
template:
  {{- include "tf-cluster.pod" . | nindent 2 }}
{{- end -}}

{{- /* Variables that only an evaluator has: cluster.json does not hold its address. */ -}}
{{- define "tf-cluster.evaluator.env" -}}
- name: TF_CLUSTER_STATUS
  value: 0.0.0.0:{{ include "tf-cluster.port.status" . }}
{{- with .root.Values.evaluator.exportBest.metric }}
- name: TF_CLUSTER_EXPORT_BEST
  value: {{ printf "%s:%s" $.root.Values.evaluator.exportBest.mode . | quote }}
{{- end }}
{{- end -}}

{{- /* The evaluator's Job. It says `eval`, because a name of 40 characters leaves no room for more. */ -}}
{{- define "tf-cluster.evaluator.name" -}}
{{- $hash := include "tf-cluster.evaluator.spec" . | fromYaml | toJson | sha256sum | trunc 4 -}}
{{- printf "%s-eval-%s-%s" (include "tf-cluster.fullname" .root) .names.attempt $hash -}}
{{- end -}}

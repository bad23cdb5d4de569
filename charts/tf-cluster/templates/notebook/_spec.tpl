{{- /* What the notebook's pod has of its own: of an interactive cluster, where the servers are. */ -}}
{{- define "tf-cluster.notebook.page" -}}
{{- if .root.Values.interactive.enabled -}}
{{- $names := include "tf-cluster.attempt" .root | fromJson -}}
{{- $mount := dict "mountPath" "/etc/tf-cluster" "readOnly" true -}}
mounts: {{ list (dict "name" "config" "mount" $mount "volume" (dict "configMap" (dict "name" $names.config))) | toJson }}
{{- end }}
{{- with .root.Values.notebook.pathPrefix }}
args: {{ printf "--ServerApp.base_url=%s" . | list | toJson }}
{{- end }}
{{- end -}}

{{- /* Where its notebooks are kept, and the token that it makes at its first start (trainer/notebook/start.sh). */ -}}
{{- define "tf-cluster.notebook.directory" -}}
/log/{{ include "tf-cluster.fullname" . }}/_notebooks
{{- end -}}

{{- define "tf-cluster.notebook.env" -}}
- name: NOTEBOOK_DIR
  value: {{ include "tf-cluster.notebook.directory" .root | quote }}
{{- with .root.Values.notebook.token.existingSecret }}
- name: JUPYTER_TOKEN
  valueFrom: {secretKeyRef: {name: {{ . | quote }}, key: {{ $.root.Values.notebook.token.key | quote }}}}
{{- end }}
{{- if .root.Values.interactive.enabled }}
- name: NOTEBOOK_CULL_SECONDS
  value: {{ int64 .root.Values.interactive.idleSeconds | quote }}
{{- end }}
{{- end -}}

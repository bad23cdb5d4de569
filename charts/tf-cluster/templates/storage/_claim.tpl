{{- /* The claim mounted at /data or /log: the user's own, or the one this chart makes. Takes root, volume. */ -}}
{{- define "tf-cluster.claim" -}}
{{- $claim := get .root.Values.storage .volume -}}
{{- $claim.existingClaim | default (printf "%s-%s" (include "tf-cluster.fullname" .root) .volume) -}}
{{- end -}}

{{- /* The volumes that are claims: /data may be an empty directory of each pod. */ -}}
{{- define "tf-cluster.claims" -}}
{{- if .Values.storage.data.enabled }}["data", "log"]{{ else }}["log"]{{ end -}}
{{- end -}}

{{- /* What a container mounts at /data or /log. Takes root, volume and, where it may not write, readOnly. */ -}}
{{- define "tf-cluster.claim.mount" -}}
{{- $subPath := (get .root.Values.storage .volume).subPath -}}
{mountPath: "/{{ .volume }}"{{ with $subPath }}, subPath: {{ quote . }}{{ end }}{{ if .readOnly }}, readOnly: true{{ end }}}
{{- end -}}

{{- /* The volume of that mount. Takes root, volume. */ -}}
{{- define "tf-cluster.claim.volume" -}}
{{- if has .volume (include "tf-cluster.claims" .root | fromJsonArray) -}}
{persistentVolumeClaim: {claimName: {{ include "tf-cluster.claim" . | quote }}}}
{{- else -}}
{emptyDir: {}}
{{- end -}}
{{- end -}}

{{- /* "true" for a claim that only pods of one node can mount. Takes its values. */ -}}
{{- define "tf-cluster.claim.isOfOneNode" -}}
{{- $modes := .accessModes | default list -}}
{{- if and (has "ReadWriteOnce" $modes) (not (has "ReadWriteMany" $modes)) }}true{{ end -}}
{{- end -}}

{{- /* "true" when the pods that mount a claim have to share a node. */ -}}
{{- define "tf-cluster.colocate" -}}
{{- $needed := "" -}}
{{- range $volume := include "tf-cluster.claims" . | fromJsonArray -}}
{{- $needed = $needed | default (include "tf-cluster.claim.isOfOneNode" (get $.Values.storage $volume)) -}}
{{- end -}}
{{- if kindIs "bool" .Values.storage.colocate -}}{{- $needed = .Values.storage.colocate -}}{{- end -}}
{{- if $needed }}true{{ end -}}
{{- end -}}

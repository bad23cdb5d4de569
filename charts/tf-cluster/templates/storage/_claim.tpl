{{- /* The claim mounted at /data or /log: the user's own, or the one this chart makes. Takes root, volume. */ -}}
{{- define "tf-cluster.claim" -}}
{{- (get .root.Values.storage .volume).existingClaim | default (printf "%s-%s" (include "tf-cluster.fullname" .root) .volume) -}}
{{- end -}}

{{- /* The volumes that are claims: /data may be an empty directory of each pod. */ -}}
{{- define "tf-cluster.claims" -}}
{{- if .Values.storage.data.enabled }}["data", "log"]{{ else }}["log"]{{ end -}}
{{- end -}}

{{- /* What a container mounts at /data or /log. Takes root, volume and, where it may not write, readOnly. */ -}}
{{- define "tf-cluster.claim.mount" -}}
{mountPath: "/{{ .volume }}"{{ with (get .root.Values.storage .volume).subPath }}, subPath: {{ quote . }}{{ end }}
{{- if .readOnly }}, readOnly: true{{ end }}}
{{- end -}}

{{- /* What the volume of a claim that is only read has to say: some drivers attach no other. Takes root, volume. */ -}}
{{- define "tf-cluster.claim.readOnly" -}}
{{- if eq (join " " (get .root.Values.storage .volume).accessModes) "ReadOnlyMany" }}, readOnly: true{{ end -}}
{{- end -}}

{{- /* The volume of that mount. Takes root, volume. */ -}}
{{- define "tf-cluster.claim.volume" -}}
{{- if has .volume (include "tf-cluster.claims" .root | fromJsonArray) -}}
{persistentVolumeClaim: {claimName: {{ include "tf-cluster.claim" . | quote }}{{ include "tf-cluster.claim.readOnly" . }}}}
{{- else -}}
{emptyDir: {}}
{{- end -}}
{{- end -}}

{{- /* "true" for a claim that only pods of one node can mount. Takes its values. */ -}}
{{- define "tf-cluster.claim.isOfOneNode" -}}
{{- if and (has "ReadWriteOnce" .accessModes) (not (has "ReadWriteMany" .accessModes)) }}true{{ end -}}
{{- end -}}

{{- /* "true" when the pods that mount a claim have to share a node. */ -}}
{{- define "tf-cluster.colocate" -}}
{{- $needed := "" -}}
{{- range $volume := include "tf-cluster.claims" . | fromJsonArray -}}
{{- $needed = $needed | default (include "tf-cluster.claim.isOfOneNode" (get $.Values.storage $volume)) -}}
{{- end -}}
{{- if kindIs "bool" .Values.storage.colocate | ternary .Values.storage.colocate $needed }}true{{ end -}}
{{- end -}}

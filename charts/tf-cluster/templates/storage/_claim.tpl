{{- /* The claim mounted at /data or /log: the user's own, or the one this chart makes. Takes root, volume. */ -}}
{{- define "tf-cluster.claim" -}}
{{- $claim := get .root.Values.storage .volume -}}
{{- $claim.existingClaim | default (printf "%s-%s" (include "tf-cluster.fullname" .root) .volume) -}}
{{- end -}}

{{- /*
"true" when the pods that mount a claim have to share a node. A claim that is ReadWriteOnce, and not ReadWriteMany
as well, can be mounted on one node only.
*/ -}}
{{- define "tf-cluster.colocate" -}}
{{- $needed := false -}}
{{- range $claim := list .Values.storage.data .Values.storage.log -}}
{{- if and (has "ReadWriteOnce" $claim.accessModes) (not (has "ReadWriteMany" $claim.accessModes)) -}}
{{- $needed = true -}}
{{- end -}}
{{- end -}}
{{- if kindIs "bool" .Values.storage.colocate -}}{{- $needed = .Values.storage.colocate -}}{{- end -}}
{{- if $needed }}true{{ end -}}
{{- end -}}

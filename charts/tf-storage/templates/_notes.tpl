{{- /* Not in NOTES.txt itself, so that an umbrella chart can show it, too. */ -}}
{{- define "tf-storage.notes" }}
{{- /* In the umbrella chart the trainings' values stand below the other chart's name. */}}
{{- $storage := ternary "storage" "tf-cluster.storage" .Chart.IsRoot }}
{{- with keys .Values.classes | sortAlpha }}
Classes: {{ join ", " . }}. A training takes one with {{ $storage }}.data.storageClassName and {{ $storage }}.log.storageClassName.
{{- end }}
{{- with keys .Values.volumes | sortAlpha }}
Volumes: {{ join ", " . }}. A training takes one with {{ $storage }}.log.volumeName and its storageClassName ("" if it has none).
{{- end }}
{{- if not (or .Values.classes .Values.volumes) }}
Nothing was made: name StorageClasses below classes, or PersistentVolumes below volumes.
{{- end }}

    kubectl get storageclass,persistentvolume --selector app.kubernetes.io/instance={{ .Release.Name }}
{{- end -}}

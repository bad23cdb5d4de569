{{- /* Labels and annotations of an object. Takes root, labels, annotations. */ -}}
{{- define "tf-storage.metadata" -}}
labels:
  app.kubernetes.io/name: tf-storage
  app.kubernetes.io/instance: {{ .root.Release.Name | quote }}
  app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
  app.kubernetes.io/managed-by: {{ .root.Release.Service | quote }}
  helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" | quote }}
  {{- with merge (dict) (.labels | default dict) .root.Values.commonLabels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with merge (dict) (.annotations | default dict) .root.Values.commonAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- /* The classes by name, each laid over the defaults, as JSON. */ -}}
{{- define "tf-storage.classes" -}}
{{- $classes := dict -}}
{{- range $name, $given := .Values.classes -}}
{{- $_ := set $classes $name (mergeOverwrite (deepCopy $.Values.class) $given) -}}
{{- end -}}
{{- toJson $classes -}}
{{- end -}}

{{- /* The volumes by name, each laid over the defaults, as JSON. */ -}}
{{- define "tf-storage.volumes" -}}
{{- $volumes := dict -}}
{{- range $name, $given := .Values.volumes -}}
{{- $_ := set $volumes $name (mergeOverwrite (deepCopy $.Values.volume) $given) -}}
{{- end -}}
{{- toJson $volumes -}}
{{- end -}}

{{- /* A section as a provisioner's parameters, as JSON: what is given, all of it texts. */ -}}
{{- define "tf-storage.given" -}}
{{- $given := dict -}}
{{- range $name, $value := . -}}
{{- if not (or (kindIs "invalid" $value) (eq (toString $value) "")) -}}
{{- if kindIs "float64" $value -}}
{{- $value = ternary (int64 $value) $value (eq $value (floor $value)) -}}
{{- end -}}
{{- $_ := set $given $name (toString $value) -}}
{{- end -}}
{{- end -}}
{{- toJson $given -}}
{{- end -}}

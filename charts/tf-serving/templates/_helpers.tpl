{{- /* What every object's name starts with. */ -}}
{{- define "tf-serving.fullname" -}}
{{- .Values.fullnameOverride | default (list .Release.Name .Values.nameOverride | compact | join "-") -}}
{{- end -}}

{{- /* Labels that select the pods. They never change in a release's life. */ -}}
{{- define "tf-serving.selector" -}}
app.kubernetes.io/name: {{ .Values.nameOverride | default "tf-serving" | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/component: serving
tf-cluster.io/serving: {{ include "tf-serving.fullname" . | quote }}
{{- end -}}

{{- /* The head of an object. Takes root, api, kind and, where they apply, name, suffix (of the name), labels, annotations. */ -}}
{{- define "tf-serving.object" -}}
apiVersion: {{ .api }}
kind: {{ .kind }}
metadata:
  name: {{ .name | default (print (include "tf-serving.fullname" .root) (.suffix | default "")) | quote }}
  labels:
    {{- $version := dict "app.kubernetes.io/version" .root.Chart.AppVersion "app.kubernetes.io/part-of" "tf-cluster" -}}
    {{- $chart := printf "tf-serving-%s" .root.Chart.Version | replace "+" "_" -}}
    {{- $made := dict "app.kubernetes.io/managed-by" .root.Release.Service "helm.sh/chart" $chart -}}
    {{- $own := merge (include "tf-serving.selector" .root | fromYaml) $version $made }}
    {{- merge $own (.labels | default dict) .root.Values.commonLabels | toYaml | nindent 4 }}
  {{- with merge (dict) (.annotations | default dict) .root.Values.commonAnnotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end -}}

{{- /* An image by name. Takes a list: root, and registry, repository, tag and digest. */ -}}
{{- define "tf-serving.image" -}}
{{- $image := last . -}}
{{- $named := regexMatch "^(localhost|[^/]*[.:][^/]*)/" ($image.repository | default "") -}}
{{- $registry := $image.registry | default (ternary "" ((first .).Values.global | default dict).imageRegistry $named) -}}
{{- $name := list $registry $image.repository | compact | join "/" -}}
{{- if $image.digest }}{{ $name }}@{{ $image.digest }}{{ else }}{{ list $name $image.tag | compact | join ":" }}{{ end -}}
{{- end -}}

{{- /* The CPUs that a container requests (Kubernetes takes the limit where that alone is said), rounded up. 0: none are said. */ -}}
{{- define "tf-serving.cpus" -}}
{{- $asked := (.requests | default dict).cpu | default (.limits | default dict).cpu | default 0 | toString -}}
{{- ternary (divf (trimSuffix "m" $asked | float64) 1000.0) (float64 $asked) (hasSuffix "m" $asked) | ceil -}}
{{- end -}}

{{- /* What is said of a map: its keys without null, "" and false, as JSON. */ -}}
{{- define "tf-serving.said" -}}
{{- $said := dict -}}
{{- range $key, $value := . }}{{ if $value }}{{ $_ := set $said $key $value }}{{ end }}{{ end -}}
{{- toJson $said -}}
{{- end -}}

{{- /*
The models as a JSON list, by name. Each has name, kind of source, source, claim (none: "") and path in it, base (the
directory in the pod), policy and labels as they were said, and versions: how many, or which, or none where all are meant.
*/ -}}
{{- define "tf-serving.models" -}}
{{- $models := list -}}
{{- range $name, $model := .Values.models -}}
{{- $sources := include "tf-serving.said" $model.source | fromJson -}}
{{- $kind := keys $sources | first -}}
{{- $source := get $sources $kind -}}
{{- $claim := eq $kind "claim" | ternary $source.name "" -}}
{{- $path := $source.path | default "" -}}
{{- if eq $kind "run" -}}
{{- $claim = $source.claim | default (printf "%s-log" $source.release) -}}
{{- $path = list $source.release $source.id ($source.directory | default "export") | join "/" -}}
{{- end -}}
{{- $base := ternary (list "/claims" $claim $path) (list "/models" $name) (ne $claim "") | compact | join "/" -}}
{{- $policy := include "tf-serving.said" $model.policy | fromJson | default (dict "latest" 1) -}}
{{- $of := dict "policy" $policy "versions" ($policy.specific | default (compact (list $policy.latest))) -}}
{{- $of = merge $of (dict "name" $name "kind" $kind "source" $source "claim" $claim "path" $path "base" $base) -}}
{{- $models = append $models (set $of "labels" ($model.labels | default dict)) -}}
{{- end -}}
{{- toJson $models -}}
{{- end -}}

{{- /* The claims that models are on, as a JSON list. */ -}}
{{- define "tf-serving.claims" -}}
{{- $claims := list -}}
{{- range include "tf-serving.models" . | fromJsonArray }}{{ $claims = append $claims .claim }}{{ end -}}
{{- compact $claims | uniq | sortAlpha | toJson -}}
{{- end -}}

{{- /* "true" when all pods have to share a node, as where a claim is one that only one node can mount. */ -}}
{{- define "tf-serving.colocate" -}}
{{- $one := not (or (has "ReadWriteMany" .Values.storage.accessModes) (has "ReadOnlyMany" .Values.storage.accessModes)) -}}
{{- $said := ternary .Values.storage.colocate $one (kindIs "bool" .Values.storage.colocate) -}}
{{- if and $said (include "tf-serving.claims" . | fromJsonArray) }}true{{ end -}}
{{- end -}}

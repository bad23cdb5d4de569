{{- /* The name in the label app.kubernetes.io/name. */ -}}
{{- define "tf-cluster.name" -}}
{{- .Values.nameOverride | default "tf-cluster" -}}
{{- end -}}

{{- /* What every object's name starts with; also the name of the run's directory. */ -}}
{{- define "tf-cluster.fullname" -}}
{{- $name := .Release.Name -}}
{{- with .Values.nameOverride -}}{{- $name = printf "%s-%s" $name . -}}{{- end -}}
{{- .Values.fullnameOverride | default $name -}}
{{- end -}}

{{- /*
The type of the task that drives the run: chief, or worker (0) where every worker trains by itself. In an interactive
cluster none does; the workers' Job is then the one whose end cleanup waits for.
*/ -}}
{{- define "tf-cluster.client" -}}
{{- $hasChief := (include "tf-cluster.combination" . | fromJson).hasChief -}}
{{- if and $hasChief (not (.Values.interactive | default dict).enabled) }}chief{{ else }}worker{{ end -}}
{{- end -}}

{{- /*
The image of a role's pods, or of the release without a role's values (`pod`). What a role says of its image is laid over
`image`; a digest is of one repository and tag, so it counts only where the role names neither. Takes root, pod.
*/ -}}
{{- define "tf-cluster.image" -}}
{{- $own := (.pod | default dict).image | default dict -}}
{{- $image := .root.Values.image -}}
{{- $repository := $own.repository | default $image.repository -}}
{{- $shared := (.root.Values.global | default dict).imageRegistry -}}
{{- $shared = regexMatch "^(localhost|[^/]*[.:][^/]*)/" $repository | ternary "" $shared -}}
{{- $registry := $own.registry | default $image.registry | default $shared -}}
{{- $name := compact (list $registry $repository) | join "/" -}}
{{- with ternary $own.digest $image.digest (or $own.digest $own.repository $own.tag | empty | not) -}}
{{- printf "%s@%s" $name . -}}
{{- else -}}
{{- $suffix := $own.tag | empty | ternary (($.role | default dict).tagSuffix | default "") "" -}}
{{- printf "%s:%s%s" $name ($own.tag | default $image.tag | default $.root.Chart.AppVersion) $suffix -}}
{{- end -}}
{{- end -}}

{{- /* The Secrets to pull images with, as a JSON list of objects. */ -}}
{{- define "tf-cluster.pullSecrets" -}}
{{- $secrets := list -}}
{{- range concat (.Values.image.pullSecrets | default list) ((.Values.global | default dict).imagePullSecrets | default list) -}}
{{- $secrets = append $secrets (ternary (dict "name" .) . (kindIs "string" .)) -}}
{{- end -}}
{{- uniq $secrets | toJson -}}
{{- end -}}

{{- /* The account of all pods but cleanup's, which has one of its own; empty is the namespace's default. */ -}}
{{- define "tf-cluster.serviceAccount" -}}
{{- $account := (.Values.serviceAccount | default dict) -}}
{{- $account.name | default (ternary (include "tf-cluster.fullname" .) "" ($account.create | default false)) -}}
{{- end -}}

{{- /* The labels that say whose an object is. They never change in a release's life. */ -}}
{{- define "tf-cluster.identity" -}}
app.kubernetes.io/name: {{ include "tf-cluster.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end -}}

{{- /* Selects the release's tasks, of every attempt: not cleanup. */ -}}
{{- define "tf-cluster.tasks" -}}
{{- $names := list -}}
{{- range include "tf-cluster.roles" . | fromJsonArray -}}
{{- if .task -}}{{- $names = append $names .name -}}{{- end -}}
{{- end -}}
matchLabels:
  {{- include "tf-cluster.identity" . | nindent 2 }}
matchExpressions:
  - key: app.kubernetes.io/component
    operator: In
    values: [{{ join ", " $names }}]
{{- end -}}

{{- /* The head of an object. Takes a list: its apiVersion, kind and name, and the context of its metadata. */ -}}
{{- define "tf-cluster.object" -}}
apiVersion: {{ index . 0 }}
kind: {{ index . 1 }}
metadata:
  name: {{ index . 2 }}
  {{- include "tf-cluster.metadata" (last .) | nindent 2 }}
{{- end -}}

{{- /*
An annotation with an option for Argo CD, added to those that the object's own annotations say, or else those of all
objects. One of the same name there stays. Takes root, name (sync-options or compare-options), option and own.
*/ -}}
{{- define "tf-cluster.argoOption" -}}
{{- $name := printf "argocd.argoproj.io/%s" .name -}}
{{- $said := get (.own | default dict) $name | default (get (.root.Values.commonAnnotations | default dict) $name) | nospace -}}
{{- $key := printf ",%s=" (splitList "=" .option | first) -}}
{{- $is := or (has .option (splitList "," $said)) (contains $key (printf ",%s" $said)) -}}
{{- dict $name (ternary $said (append (compact (list $said)) .option | join ",") $is) | toJson -}}
{{- end -}}

{{- /*
Labels and annotations of an object's own metadata. Takes the context and, where they apply, component
(of an object that no role has), labels and annotations. Labels that move with the chart's version stand here
and nowhere else.
*/ -}}
{{- define "tf-cluster.metadata" -}}
labels:
  {{- include "tf-cluster.identity" .root | nindent 2 }}
  app.kubernetes.io/component: {{ with .component }}{{ . }}{{ else }}{{ .role.name }}{{ end }}
  app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
  app.kubernetes.io/managed-by: {{ .root.Release.Service | quote }}
  helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" | quote }}
  {{- with .names }}
  tf-cluster.io/attempt: {{ .attempt | quote }}
  {{- end }}
  {{- if hasKey . "index" }}
  tf-cluster.io/index: {{ .index | quote }}
  {{- end }}
  {{- $pod := dict }}
  {{- $queue := dict }}
  {{- if .role }}
  {{- $pod = include "tf-cluster.podValues" . | fromJson }}
  {{- with .root.Values.scheduling.queue }}
  {{- $queue = ternary (dict "kueue.x-k8s.io/queue-name" .) dict (and $.role.task $.role.job | default false) }}
  {{- end }}
  {{- end }}
  {{- with merge (dict) (.labels | default dict) ($pod.objectLabels | default dict) $queue (.root.Values.commonLabels | default dict) }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- $common := .root.Values.commonAnnotations | default dict }}
{{- with merge (dict) (.annotations | default dict) ($pod.objectAnnotations | default dict) $common }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

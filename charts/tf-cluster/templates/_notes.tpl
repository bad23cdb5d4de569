{{- /*
What a user wants to do next. It is not in NOTES.txt itself, so that an umbrella chart can show it too: Helm shows the
notes of the installed chart, not those of its subcharts.
*/ -}}
{{- define "tf-cluster.notes" -}}
{{- include "tf-cluster.located" (list . (include "tf-cluster.notes.text" .)) -}}
{{- end -}}

{{- define "tf-cluster.notes.text" -}}
{{- $names := include "tf-cluster.attempt" . | fromJson -}}
{{- $attempt := $names.attempt -}}
{{- $fullname := include "tf-cluster.fullname" . -}}
{{- $hasChief := not (empty $names.chief) -}}
{{- $client := $names.client -}}
{{- /* The pod of the chief or worker 0, and its host name. In an Indexed Job it is the pod with index 0. */ -}}
{{- $pod := printf "batch.kubernetes.io/job-name=%s%s" $client ($hasChief | ternary "" ",batch.kubernetes.io/job-completion-index=0") -}}
{{- $host := printf "%s%s" $client ($hasChief | ternary "" "-0") -}}
{{- $logs := $hasChief | ternary (printf "job/%s" $client) (printf "--tail=-1 --selector %s" $pod) -}}
{{- $ps := include "tf-cluster.ps.count" . -}}
{{- $kubectl := printf "kubectl --namespace %s" .Release.Namespace -}}
{{- $run := printf "/log/%s/%s" $fullname .Values.run.id -}}
{{- $what := printf "%s trains to step %d" .Values.program.module (int64 .Values.train.steps) -}}
{{- $result := dict "name" "the model" "path" (printf "%s/export" $run) "copy" "export" -}}
{{- with .Values.program.script -}}
{{- $what = printf "%s runs" . -}}
{{- $result = dict "name" "what the script wrote to LOG_DIR" "path" $run "copy" "log" -}}
{{- end -}}
{{- $follow := "the training" -}}
{{- if .Values.interactive.enabled -}}
{{- $follow = "the log of worker 0" -}}
{{- $what = printf "No program runs. Until %d s pass without a client, it serves one" (int64 .Values.interactive.idleSeconds) -}}
{{- $directory := include "tf-cluster.notebook.directory" . -}}
{{- $result = dict "name" "the notebooks" "path" $directory "copy" "notebooks" -}}
{{- if not .Values.notebook.enabled -}}
{{- $result = dict "name" "what the client wrote to /log" "path" "/log" "copy" "log" -}}
{{- end -}}
{{- end -}}
{{ $what }} with {{ int64 .Values.worker.replicas }} worker(s) and {{ $ps }} ps.
Run {{ .Values.run.id }}, attempt {{ $attempt }}.

1. Follow {{ $follow }}. Once it has ended, leave out the first line:

    {{ $kubectl }} wait --for=condition=Ready --timeout=10m pod --selector {{ $pod }}
    {{ $kubectl }} logs --follow {{ $logs }}

2. See its tasks{{ if and .Values.cleanup.enabled (ne $ps "0") -}}
{{ printf " (the ps are gone %v s after the end)" .Values.cleanup.delaySeconds.success }}{{ end }}:

    {{ $kubectl }} get jobs,deployments,pods --selector tf-cluster.io/attempt={{ $attempt }}

3. When it is done, copy {{ $result.name }} from the claim {{ include "tf-cluster.claim" (dict "root" . "volume" "log") }}:

    {{ $kubectl }} run {{ $fullname }}-files --image={{ include "tf-cluster.image" (dict "root" .) }} --restart=Never \
      --overrides='{{ include "tf-cluster.notes.filesPod" . | fromYaml | toJson }}'
    {{ $kubectl }} wait --for=condition=Ready --timeout=10m pod/{{ $fullname }}-files
    {{ $kubectl }} cp {{ $fullname }}-files:{{ $result.path }} {{ $result.copy }}
    {{ $kubectl }} delete pod {{ $fullname }}-files
{{- $data := .Values.storage.data }}
{{- $isRead := include "tf-cluster.claim.readOnly" (dict "root" . "volume" "data") }}
{{- if and $data.enabled (not $data.existingClaim) (not $isRead) }}

To load data into the claim {{ include "tf-cluster.claim" (dict "root" . "volume" "data") }}, make the pod of step 3
and, before you delete it, copy:

    {{ $kubectl }} cp data/. {{ $fullname }}-files:/data
{{- end }}
{{- if .Values.evaluator.enabled }}

See what the evaluator measures. The record is {{ $run }}/evaluations.json:

    {{ $kubectl }} logs --follow job/{{ $names.evaluator }}
{{- end }}
{{- if and .Values.interactive.enabled (not .Values.notebook.enabled) }}

No client is made here. Connect one: a pod of this namespace with the ConfigMap {{ $names.config }}
at /etc/tf-cluster, and with these labels, which let it in:

{{ include "tf-cluster.identity" . | indent 4 }}
    app.kubernetes.io/component: notebook

In it, interactive.connect() of tf_cluster_trainer finds the tasks. Or set notebook.enabled to true, and JupyterLab is the
client (docs/notebook.md).
{{- end }}
{{- include "tf-cluster.notes.pages" . }}
{{- if or .Values.security.networkPolicy.statusFrom (not .Values.security.networkPolicy.enabled) }}

Progress as JSON, from inside the cluster:
{{- $service := $names.service }}
{{- $port := include "tf-cluster.port.status" . }}
http://{{ $host }}.{{ $service }}.{{ .Release.Namespace }}.svc.{{ .Values.clusterDomain }}:{{ $port }}/progress
{{- end }}
{{- if and (not .Values.cleanup.enabled) (ne $ps "0") }}

cleanup.enabled is false: the parameter servers run until you scale them to 0 or uninstall.
{{- end }}
{{- if include "tf-cluster.colocate" . }}

{{ $hasChief | ternary "Chief and workers" "The workers" }}
{{- if include "tf-cluster.ps.mountsClaims" . }} and the parameter servers{{ end }}
{{- if .Values.evaluator.enabled }} and the evaluator{{ end }}
{{- range include "tf-cluster.pages" . | fromJsonArray }} and {{ .page }}{{ end }} share one node, since a claim is ReadWriteOnce.
{{- " For several nodes set, before the first" }}
install (a claim's access mode and class can't change), storage.data.accessModes and
storage.log.accessModes to [ReadWriteMany] and a storageClassName that can.
{{- end }}
{{- if not (or .Values.image.tag .Values.image.digest) }}

image.tag is empty, so the image is this chart's appVersion, {{ .Chart.AppVersion }}. An upgrade to a chart with
another one restarts the training, which resumes. Set image.tag to keep the image, and the training, as they are.
{{- end }}
{{- include "tf-cluster.notes.existingClaims" . }}
{{- include "tf-cluster.notes.sharedClaims" . }}
{{- with (.Values.program.source | default dict).secretName }}

The Secret {{ . }} is not made here. While it does not exist, the pods that fetch the code wait:

    {{ $kubectl }} get secret {{ . }}
{{- end }}
{{- end -}}

{{- /* Where the pages are: through the API server, which needs no more rights than these notes, and on the nodes. */ -}}
{{- define "tf-cluster.notes.pages" -}}
{{- $kubectl := printf "kubectl --namespace %s" .Release.Namespace -}}
{{- range $role := include "tf-cluster.pages" . | fromJsonArray }}
{{- $values := get $.Values $role.name }}
{{- $name := printf "%s-%s" (include "tf-cluster.fullname" $) $role.name }}
{{- $port := include (printf "tf-cluster.port.%s" $role.name) $ }}
{{- $isClosed := and $.Values.security.networkPolicy.enabled (not (include "tf-cluster.page.isOpen" $values)) }}

Open {{ $role.page }} at http://localhost:{{ $port }}{{ $values.pathPrefix }}/ while this runs:

    {{ $kubectl }} port-forward service/{{ $name }} {{ $port }}:{{ int64 $values.service.port }}
{{- if and (eq $values.service.type "NodePort") (not $isClosed) }}

or at any node's address, on the port that this prints:

    {{ $kubectl }} get service {{ $name }} --output=jsonpath='{.spec.ports[0].nodePort}'
{{- end }}
{{- if eq $role.name "notebook" }}

It asks for a token. This prints it, once the pod is ready:

{{- with $values.token.existingSecret }}

    {{ $kubectl }} get secret {{ . }} --output=go-template='{{ printf `{{index .data %q | base64decode}}` $values.token.key }}'
{{- else }}

    {{ $kubectl }} exec deployment/{{ $name }} -- cat {{ include "tf-cluster.notebook.directory" $ }}/.token
{{- end }}
{{- end }}
{{- if and $isClosed (or $values.ingress.enabled $values.httpRoute.enabled) }}

{{ $role.name }}.allowFrom is empty: the pods behind its Ingress or HTTPRoute can't reach it. Name them there.
{{- end }}
{{- if and $isClosed (eq $values.service.type "NodePort") }}

{{ $role.name }}.allowFrom is empty: nobody can reach the NodePort. Name who may there; null is everybody.
{{- end }}
{{- end }}
{{- end -}}

{{- /* The pod of step 3: mounts both claims and sleeps, on the node of a claim that only one can mount. */ -}}
{{- define "tf-cluster.notes.filesPod" -}}
spec:
  automountServiceAccountToken: false
  securityContext:
    {{- toYaml (.Values.security.podSecurityContext | default dict) | nindent 4 }}
  {{- with include "tf-cluster.pullSecrets" . | fromJsonArray }}
  imagePullSecrets: {{ toJson . }}
  {{- end }}
  containers:
    - name: files
      image: {{ include "tf-cluster.image" (dict "root" .) | quote }}
      command: [sleep, infinity]
      securityContext:
        allowPrivilegeEscalation: false
        capabilities:
          drop: [ALL]
      volumeMounts:
        {{- range $volume := list "data" "log" }}
        - {{ include "tf-cluster.claim.mount" (dict "root" $ "volume" $volume) | fromYaml | merge (dict "name" $volume) | toJson }}
        {{- end }}
  volumes:
    {{- range $volume := list "data" "log" }}
    - {{ include "tf-cluster.claim.volume" (dict "root" $ "volume" $volume) | fromYaml | merge (dict "name" $volume) | toJson }}
    {{- end }}
  {{- if include "tf-cluster.colocate" . }}
  affinity:
    podAffinity:
      preferredDuringSchedulingIgnoredDuringExecution:
        - weight: 100
          podAffinityTerm:
            {{- include "tf-cluster.pod.colocation" . | nindent 12 }}
  {{- end }}
{{- end -}}

{{- /* A pod whose claim does not exist stays Pending for ever, and no task of ours can say so. */ -}}
{{- define "tf-cluster.notes.existingClaims" -}}
{{- $names := list -}}
{{- range $volume := include "tf-cluster.claims" . | fromJsonArray -}}
{{- with (get $.Values.storage $volume).existingClaim -}}
{{- $names = append $names . -}}
{{- end -}}
{{- end -}}
{{- $pods := eq (include "tf-cluster.client" .) "chief" | ternary "chief and workers" "the workers" -}}
{{- with $names | uniq }}

These claims are not made here. While one does not exist, {{ $pods }} stay Pending:

    kubectl --namespace {{ $.Release.Namespace }} get pvc {{ join " " . }}
{{- end }}
{{- end -}}

{{- define "tf-cluster.notes.sharedClaims" -}}
{{- $names := list -}}
{{- range $volume := include "tf-cluster.claims" . | fromJsonArray -}}
{{- $claim := get $.Values.storage $volume -}}
{{- if and (not $claim.existingClaim) (has "ReadWriteMany" $claim.accessModes)
  (not (or $claim.storageClassName ($.Values.global | default dict).storageClass)) -}}
{{- $names = append $names (include "tf-cluster.claim" (dict "root" $ "volume" $volume)) -}}
{{- end -}}
{{- end -}}
{{- with $names }}

The default StorageClass is asked for ReadWriteMany ({{ join ", " . }}). Most default classes can't
give it, and the pods then stay Pending. Classes of NFS, CephFS, Longhorn, Kadalu (GlusterFS), EFS,
Filestore and Azure Files can. See what your cluster has:

    kubectl get storageclass
{{- end }}
{{- end -}}

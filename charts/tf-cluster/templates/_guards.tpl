{{- /*
Complaints that a schema can't make in plain words. Each guard renders its complaint, or nothing. Helm shows all
complaints at once. Every object's file includes "tf-cluster.guards" first: Helm stops at the first file that fails,
and it promises no order of files. The files after that need not look again: all have one root context.
*/ -}}
{{- define "tf-cluster.guards" -}}
{{- if not (hasKey . "guarded") -}}
{{- include "tf-cluster.guards.all" . -}}
{{- $_ := set . "guarded" true -}}
{{- end -}}
{{- end -}}

{{- define "tf-cluster.guards.all" -}}
{{- $complaints := list -}}
{{- range $guard := list
  "null" "image" "program" "interactive" "notebook" "source" "combination" "success" "momentum" "schedule" "preStop"
  "gpus" "name" "claims" "env" "labels"
  "resources" "annotations" "flags" "characters" "arguments" "ranges" "nodePorts" "volumes" "colocate"
  "hosts" "enabled" "account" "sysctls" "versions" "routes" "operator" "monitoring" -}}
{{- with include (printf "tf-cluster.guards.%s" $guard) $ | trim -}}
{{- $complaints = append $complaints . -}}
{{- end -}}
{{- end -}}
{{- range $guard := ternary (list "pods" "scheduling" "size") list (empty $complaints) -}}
{{- with include (printf "tf-cluster.guards.%s" $guard) $ | trim -}}
{{- $complaints = append $complaints . -}}
{{- end -}}
{{- end -}}
{{- with $complaints -}}
{{- include "tf-cluster.located" (list $ (join "\n\n" .)) | printf "\n\n%s\n" | fail -}}
{{- end -}}
{{- end -}}

{{- /*
A text whose paths of values are those of the values file that the user has: in an umbrella chart they stand below this
chart's name, and its name below the name of a chart between. Takes a list: the root context and the text.
*/ -}}
{{- define "tf-cluster.located" -}}
{{- $root := first . -}}
{{- $text := last . -}}
{{- with $root.Template.BasePath | trimSuffix "/templates" | splitList "/charts/" | rest -}}
{{- $paths := list "nameOverride" "fullnameOverride" "clusterDomain" "commonLabels" "commonAnnotations" "extraObjects" -}}
{{- range $section, $values := $root.Values -}}
{{- if kindIs "map" $values -}}
{{- range $key, $_ := $values -}}{{- $paths = append $paths (printf "%s[.]%s" $section (regexQuoteMeta $key)) -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- $pattern := printf `(^|[\s(=\[])((?:[\w.]+ is null|%s)\b)` (join "|" $paths) -}}
{{- $text = regexReplaceAll $pattern $text (printf "${1}%s.${2}" (join "." .)) -}}
{{- end -}}
{{- $text -}}
{{- end -}}

{{- /* Alone, a chart that is left out would be a release of nothing. */ -}}
{{- define "tf-cluster.guards.enabled" -}}
{{- if and .Chart.IsRoot (eq (toString .Values.enabled) "false") }}
enabled is false: only an umbrella chart can leave this chart out. Take it as a part of one, or remove the line.
{{- end }}
{{- end -}}

{{- /* A null removes a default. The schema can't require the key: it also judges a user's file, which has few keys. */ -}}
{{- define "tf-cluster.guards.null" -}}
{{- $nulls := list }}
{{- range $path := list
  "enabled" "clusterDomain" "image" "image.pullPolicy" "run.id" "run.attempt" "program" "program.ps"
  "logging" "logging.format"
  "strategy" "replication" "update"
  "train.steps" "train.batchSize" "train.microBatches" "train.seed" "train.precision" "train.xla" "train.optimizer.name"
  "train.optimizer.learningRate" "train.optimizer.schedule.name" "train.optimizer.schedule.warmupSteps"
  "train.checkpoint.seconds" "train.checkpoint.keep" "train.reportSeconds"
  "peers.deadlineSeconds" "failure.restarts" "failure.finalStateSeconds"
  "chief.backoffLimit" "chief.terminationGracePeriodSeconds"
  "worker.replicas" "worker.successPolicy" "worker.backoffLimit" "worker.terminationGracePeriodSeconds"
  "ps.replicas" "ps.preStopSeconds" "ps.logVolume" "ps.terminationGracePeriodSeconds"
  "scheduling.psNearWorkers" "scheduling.gang.provider"
  "interactive.enabled" "interactive.idleSeconds"
  "evaluator.enabled" "evaluator.exportBest.mode" "evaluator.backoffLimit" "evaluator.terminationGracePeriodSeconds"
  "cleanup.enabled" "cleanup.delaySeconds.success" "cleanup.workersTimeoutSeconds"
  "tensorboard.enabled" "tensorboard.reloadSeconds" "tensorboard.service.type" "tensorboard.service.port"
  "tensorboard.ingress.enabled" "tensorboard.httpRoute.enabled" "tensorboard.terminationGracePeriodSeconds"
  "notebook.enabled" "notebook.token.key" "notebook.service.type" "notebook.service.port"
  "notebook.ingress.enabled" "notebook.httpRoute.enabled" "notebook.terminationGracePeriodSeconds"
  "storage.data.enabled" "storage.data.size" "storage.data.accessModes" "storage.log.size" "storage.log.accessModes"
  "serviceAccount.create" "security.networkPolicy.enabled"
  "monitoring.scrapeAnnotations" "monitoring.podMonitor.enabled" "monitoring.podMonitor.interval"
  "monitoring.rules.enabled" "monitoring.rules.stalledSeconds" "monitoring.rules.checkpointSeconds"
  "monitoring.rules.losses" "monitoring.rules.alertLabels" "monitoring.dashboard.enabled" "monitoring.dashboard.labels" }}
{{- $node := $.Values }}
{{- range $key := splitList "." $path }}{{ $node = index (default dict $node) $key }}{{ end }}
{{- if kindIs "invalid" $node }}
{{- $nulls = append $nulls $path }}
{{ $path }} is null. Leave the line out to have its default (helm show values prints it).
{{- end }}
{{- end }}
{{- if and $nulls .Release.IsUpgrade }}
If you wrote no null: helm upgrade --reuse-values takes the old chart's defaults, which lack what is new.
Use --reset-then-reuse-values.
{{- end }}
{{- end -}}

{{- define "tf-cluster.guards.image" -}}
{{- $local := printf "localhost/tf-cluster-trainer:%s" .Chart.AppVersion -}}
{{- if not (.Values.image | default dict).repository }}
image.repository is empty, and there is no public trainer image. Build one:

    make image        # {{ $local }}

then push it to a registry that the cluster can pull from (without Docker: make image prints how):

    docker tag {{ $local }} REGISTRY/tf-cluster-trainer:{{ .Chart.AppVersion }}
    docker push REGISTRY/tf-cluster-trainer:{{ .Chart.AppVersion }}
    helm … --set image.repository=REGISTRY/tf-cluster-trainer

or load it into kind:

    make image LOAD=kind:kind
    helm … --set image.repository=localhost/tf-cluster-trainer
{{- end }}
{{- $all := .Values.image | default dict }}
{{- $places := dict "image" $all }}
{{- range $role := include "tf-cluster.podSections" . | splitList " " }}
{{- $_ := set $places (printf "%s.image" $role) ((get $.Values $role | default dict).image | default dict) }}
{{- end }}
{{- range $place, $image := $places }}
{{- $registry := $image.registry | default $all.registry }}
{{- if contains ":" (base (toString $image.repository)) }}
{{ $place }}.repository is {{ $image.repository }}: the tag goes into {{ $place }}.tag, a digest into {{ $place }}.digest.
{{- else if and $registry (hasPrefix (printf "%s/" $registry) (toString $image.repository)) }}
{{ $place }}.repository is {{ $image.repository }}, and a registry is put before it: {{ $registry }}. Leave that out of the repository.
{{- else if and $image.registry (not $image.repository) (hasPrefix (printf "%s/" $registry) (toString $all.repository)) }}
{{ $place }}.registry is {{ $registry }}, and image.repository begins with it: {{ $all.repository }}. Leave one of them out.
{{- end }}
{{- end }}
{{- end -}}

{{- define "tf-cluster.guards.program" -}}
{{- $program := (.Values.program | default dict) -}}
{{- if (.Values.interactive | default dict).enabled }}{{/* said by the next guard */}}
{{- else if not (or $program.module $program.script) }}
program.module is empty: which program shall be trained? Write package.module:ClassName, a subclass
of tf_cluster_trainer.Program that the image holds, or a script with program.script. To try the
chart:

    helm … --set program.module=tf_cluster_trainer.examples.digits:Digits
{{- else if and $program.module $program.script }}
program.module is {{ $program.module }} and program.script is {{ $program.script }}: which of them shall be
trained? Leave one empty.
{{- else if and $program.module (or $program.args (ne ($program.ps | default "server") "server")) }}
program.args and program.ps are for a program.script; program.module is {{ $program.module }}, which gets
its settings from flags.
{{- else if and $program.script (not $program.path) (not (hasPrefix "/" $program.script)) (not (include "tf-cluster.guards.hasSource" .)) }}
program.script is {{ $program.script }}: where is it? Give its whole path in the container, as in
/data/code/{{ $program.script }}, or the directory it is in as program.path.
{{- end }}
{{- $combination := include "tf-cluster.combination" . | fromJson -}}
{{- if and $program.script (eq (toString $program.ps) "script") $combination.strategy (not $combination.hasPs) }}
program.ps is script, but strategy {{ $combination.strategy }} has no parameter servers.
{{- end }}
{{- if and $program.script (.Values.evaluator | default dict).enabled }}
evaluator.enabled is true, but a script has no `evaluate` to measure its checkpoints with.
{{- end }}
{{- end -}}

{{- define "tf-cluster.guards.interactive" -}}
{{- if (.Values.interactive | default dict).enabled }}
{{- $program := omit (.Values.program | default dict) "source" }}
{{- if eq (toString $program.ps) "server" }}{{ $program = omit $program "ps" }}{{ end }}
{{- range $key, $value := $program }}
{{- with $value }}
interactive.enabled is true and program.{{ $key }} is {{ . }}: a client drives the tasks, and they run no program. Leave one
of the two out.
{{- end }}
{{- end }}
{{- if include "tf-cluster.guards.hasSource" . }}
interactive.enabled is true, so no task runs code of program.source: leave it out.
{{- end }}
{{- $defaults := include "tf-cluster.guards.trainDefaults" . | fromJson }}
{{- range $key, $value := include "tf-cluster.config.given" .Values.train | fromJson }}
{{- if ne (toJson $value) (get $defaults $key | toJson) }}
interactive.enabled is true, so no task reads train.{{ $key }} ({{ toJson $value }}): the client says how it trains. Leave it out.
{{- end }}
{{- end }}
{{- with .Values.flags }}
interactive.enabled is true, so no program reads flags ({{ toJson . }}): leave them out.
{{- end }}
{{- $way := printf "%v/%v/%v" .Values.strategy .Values.replication .Values.update }}
{{- if ne $way "parameter-server/in-graph/async" }}
interactive.enabled is true, so the client places variables and updates them itself: leave strategy, replication and update
at parameter-server, in-graph and async ({{ $way }} is what they are).
{{- end }}
{{- if (.Values.evaluator | default dict).enabled }}
interactive.enabled and evaluator.enabled are true, but nobody writes checkpoints for an evaluator to measure.
{{- end }}
{{- end }}
{{- end -}}

{{- /* What values.yaml says of `train`, without nulls: only from it does a template see what a user set. */ -}}
{{- define "tf-cluster.guards.trainDefaults" -}}
{"steps": 1000, "batchSize": 32, "microBatches": 1, "seed": 1, "precision": "float32", "xla": false,
 "optimizer": {"name": "Adam", "learningRate": 0.001, "schedule": {"name": "constant", "warmupSteps": 0}},
 "checkpoint": {"seconds": 60, "keep": 3}, "reportSeconds": 2}
{{- end -}}

{{- /* "true" when the code comes from a source. */ -}}
{{- define "tf-cluster.guards.hasSource" -}}
{{- $source := ((.Values.program | default dict).source | default dict) -}}
{{- if or $source.files $source.url $source.git }}true{{ end -}}
{{- end -}}

{{- /* The notebook's image is another target, which a digest of the trainer's does not name. */ -}}
{{- define "tf-cluster.guards.notebook" -}}
{{- $notebook := .Values.notebook | default dict -}}
{{- $own := $notebook.image | default dict -}}
{{- if and $notebook.enabled (.Values.image | default dict).digest (not (or $own.tag $own.digest $own.repository)) }}
image.digest is that of the trainer, and notebook.enabled is true: JupyterLab is in another image, of the target notebook.
Name it with notebook.image.digest or notebook.image.tag.
{{- end }}
{{- end -}}

{{- define "tf-cluster.guards.source" -}}
{{- $program := (.Values.program | default dict) -}}
{{- $source := ($program.source | default dict) -}}
{{- $forms := list -}}
{{- range $form := list "files" "url" "git" -}}
{{- if get $source $form -}}{{- $forms = append $forms (printf "program.source.%s" $form) -}}{{- end -}}
{{- end -}}
{{- if gt (len $forms) 1 }}
{{ join " and " $forms }}: the code comes from one place. Leave the others empty.
{{- end }}
{{- range $pair := list (list "url" "sha256") (list "git" "commit") }}
{{- $whole := get $source (first $pair) }}
{{- $proof := get $source (last $pair) }}
{{- $missing := $whole | empty | ternary (first $pair) (last $pair) }}
{{- if and (or $whole $proof) (not (and $whole $proof)) }}
program.source.{{ first $pair }} and program.source.{{ last $pair }} need each other: {{ $missing }} is empty.
{{- end }}
{{- end }}
{{- if and $source.secretName (not $source.url) (not $source.git) }}
program.source.secretName is {{ $source.secretName }}, but only program.source.url and program.source.git need a login.
{{- end }}
{{- if include "tf-cluster.guards.hasSource" . }}
{{- range $key := list "path" "script" }}
{{- with get $program $key }}
{{- if or (hasPrefix "/" .) (has ".." (splitList "/" .)) }}
program.{{ $key }} is {{ . }}, but with a program.source it is a path in that: take one that stays in it.
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- $size := $source.files | default dict | toJson | len }}
{{- if gt $size 524288 }}
program.source.files has {{ div $size 1024 }} KiB as JSON; 512 KiB is the most that a ConfigMap and Helm's record of the
release have room for. Put the code at an address (program.source.url), in Git, or on the data volume.
{{- end }}
{{- end -}}

{{- define "tf-cluster.guards.combination" -}}
{{- $wanted := printf "strategy=%v replication=%v update=%v" .Values.strategy .Values.replication .Values.update -}}
{{- $valid := list -}}
{{- range include "tf-cluster.combinations" . | fromYamlArray -}}
{{- $valid = append $valid (printf "strategy=%v replication=%v update=%v" .strategy .replication .update) -}}
{{- end -}}
{{- if contains "<nil>" $wanted }}{{/* said by the first guard */}}
{{- else if not (has $wanted $valid) }}
{{ $wanted }} is no combination that TensorFlow has. These are:

    {{ join "\n    " $valid }}
{{- end }}
{{- end -}}

{{- define "tf-cluster.guards.success" -}}
{{- if eq (toString (.Values.worker | default dict).successPolicy) "first" }}
{{- if (.Values.interactive | default dict).enabled }}
worker.successPolicy is first, but in an interactive cluster no worker ends the others: each ends when no client is there.
Set it to all.
{{- else if (include "tf-cluster.combination" . | fromJson).hasChief }}
worker.successPolicy is first, but a chief ends this run. Set it to all.
{{- else if semverCompare "<1.33.0-0" .Capabilities.KubeVersion.Version }}
worker.successPolicy is first, which Kubernetes has from 1.33 on; this is {{ .Capabilities.KubeVersion.Version }}. Set it to all.
{{- end }}
{{- end }}
{{- end -}}

{{- define "tf-cluster.guards.momentum" -}}
{{- $optimizer := ((.Values.train | default dict).optimizer | default dict) -}}
{{- $momentum := $optimizer.momentum -}}
{{- $given := not (kindIs "invalid" $momentum) -}}
{{- if and $given (ne $optimizer.name "Momentum") }}
train.optimizer.momentum is {{ $momentum }}, but the optimizer is {{ $optimizer.name }}: only Momentum has it.
{{- else if and (not $given) (eq (toString $optimizer.name) "Momentum") }}
train.optimizer.name is Momentum: set train.optimizer.momentum (0.9 is usual).
{{- end }}
{{- end -}}

{{- define "tf-cluster.guards.schedule" -}}
{{- $schedule := (((.Values.train | default dict).optimizer | default dict).schedule | default dict) -}}
{{- if eq (toString $schedule.name) "constant" }}
{{- range $key := list "decaySteps" "endFactor" }}
{{- $setting := get $schedule $key }}
{{- if and (hasKey $schedule $key) (not (kindIs "invalid" $setting)) }}
train.optimizer.schedule.{{ $key }} is {{ $setting }}, but by the schedule constant nothing decays: set
train.optimizer.schedule.name to exponential, cosine or linear, or leave {{ $key }} out.
{{- end }}
{{- end }}
{{- else if and (eq (toString $schedule.name) "exponential") (not $schedule.endFactor) }}
train.optimizer.schedule.name is exponential, which never comes to 0: set train.optimizer.schedule.endFactor (0.01 is usual).
{{- end }}
{{- end -}}

{{- /* The server has to end in what is left of the grace period. */ -}}
{{- define "tf-cluster.guards.preStop" -}}
{{- $ps := .Values.ps | default dict -}}
{{- $wait := int64 $ps.preStopSeconds -}}
{{- $grace := int64 ($ps.terminationGracePeriodSeconds | default 0) -}}
{{- if and (hasKey $ps "terminationGracePeriodSeconds") (gt $wait 0) (ge $wait $grace) }}
ps.preStopSeconds is {{ $wait }} and ps.terminationGracePeriodSeconds {{ $grace }}: the first is a part of the second,
so it has to be smaller.
{{- end }}
{{- end -}}

{{- /* GPUs that a task asks for and never uses: chief and ps are shown none, other roles use only the first. */ -}}
{{- define "tf-cluster.guards.gpus" -}}
{{- $most := dict }}
{{- range include "tf-cluster.roles" . | fromJsonArray }}
{{- if and .task (ne .gpus "always") }}
{{- $_ := set $most .name (eq .gpus "asked" | ternary 1 0) }}
{{- end }}
{{- end }}
{{- if and (include "tf-cluster.combination" . | fromJson).hasPs (.Values.program | default dict).module }}
{{- $_ := set $most "worker" 1 }}
{{- end }}
{{- range $role, $used := $most }}
{{- $resources := (get $.Values $role | default dict).resources | default dict }}
{{- range $name, $amount := merge (deepCopy ($resources.limits | default dict)) ($resources.requests | default dict) }}
{{- $accelerators := $used | empty | ternary
  "(?i)gpu|[tnixdp]pu\\b|/mig-|/(i915|xe)$|neuron|gaudi|ascend|/(mlu|dcu|gcu|rdu|qaic)|vcuda|vcore|fpga|rebellions|tenstorrent|furiosa"
  "/gpu(\\.shared)?$|/mig-|/(i915|xe)$" }}
{{- if and (regexMatch $accelerators $name) (gt (include "tf-cluster.quantity" $amount | float64) (float64 $used)) }}
{{- if eq $role "worker" }}
worker.resources asks for {{ $amount }} {{ $name }}, but with parameter servers a worker computes on one: ask for 1 and
for more workers, or set strategy to all-reduce.
{{- else if eq $role "evaluator" }}
evaluator.resources asks for {{ $amount }} {{ $name }}, but an evaluator computes on one: ask for 1.
{{- else }}
{{ $role }}.resources asks for {{ $amount }} {{ $name }}, but {{ $role }} computes on CPUs and is shown no GPU: leave it out.
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{- /* A DNS label has at most 63 characters. The longest addition is -cleanup-<attempt>-<spec>. */ -}}
{{- define "tf-cluster.guards.name" -}}
{{- $name := include "tf-cluster.fullname" . -}}
{{- if gt (len $name) 40 }}
{{- $longest := printf "%s-cleanup-00000000-0000" $name }}
The name {{ $name }} has {{ len $name }} characters; 40 is the most, so that the names made from it fit
in 63: {{ $longest }} has {{ len $longest }}. Take a shorter release name, or set fullnameOverride.
{{- else if not (regexMatch "^[a-z]([a-z0-9-]*[a-z0-9])?$" $name) }}
The name {{ $name }} can't be part of a host name: it needs a letter first, then letters, digits and -.
Take another release name, or set fullnameOverride.
{{- end }}
{{- end -}}

{{- define "tf-cluster.guards.claims" -}}
{{- range $volume := list "data" "log" }}
{{- $claim := (get ($.Values.storage | default dict) $volume | default dict) }}
{{- $settings := dict "volumeName" $claim.volumeName "storageClassName" $claim.storageClassName "annotations" $claim.annotations
  "selector" $claim.selector "dataSource" $claim.dataSource }}
{{- range $key, $setting := merge (dict "existingClaim" $claim.existingClaim "subPath" $claim.subPath) $settings }}
{{- if and (eq $volume "data") (eq (toString $claim.enabled) "false") $setting }}
storage.data.enabled is false, so /data is an empty directory and storage.data.{{ $key }} would do nothing: remove one of the two.
{{- else if and $claim.existingClaim $setting (hasKey $settings $key) }}
storage.{{ $volume }}.existingClaim is {{ $claim.existingClaim }}, so the chart makes no claim and
storage.{{ $volume }}.{{ $key }} would do nothing: remove one of the two.
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "tf-cluster.guards.env" -}}
{{- $forScripts := list }}
{{- if (.Values.program | default dict).script }}
{{- $forScripts = list "PS_HOSTS" "WORKER_HOSTS" "JOB_NAME" "TASK_INDEX" "DATA_DIR" "LOG_DIR" }}
{{- end }}
{{- $ofNotebook := dict
  "JUPYTER_TOKEN" "Put the token into a Secret, and name that in notebook.token.existingSecret."
  "NOTEBOOK_DIR" "Leave it out: notebooks and their token are kept on the log volume." }}
{{- range $role := include "tf-cluster.podSections" . | splitList " " }}
{{- $seen := list }}
{{- range $entry := (get $.Values $role | default dict).extraEnv }}
{{- if or (has .name (list "TF_CONFIG" "JOB_COMPLETION_INDEX" "GRPC_FAIL_FAST")) (hasPrefix "TF_CLUSTER_" .name) }}
{{ $role }}.extraEnv sets {{ .name }}. Reserved are TF_CONFIG, JOB_COMPLETION_INDEX, GRPC_FAIL_FAST and all
names that start with TF_CLUSTER_: the chart and the Job controller set them.
{{- end }}
{{- if has .name $forScripts }}
{{ $role }}.extraEnv sets {{ .name }}, which a script is told by the trainer.
{{- end }}
{{- with get $ofNotebook .name }}
{{ $role }}.extraEnv sets {{ $entry.name }}, which JupyterLab is told by the chart. {{ . }}
{{- end }}
{{- if has .name $seen }}
{{ $role }}.extraEnv has {{ .name }} twice.
{{- end }}
{{- $seen = append $seen .name }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "tf-cluster.guards.labels" -}}
{{- $places := dict "commonLabels" .Values.commonLabels }}
{{- range $role := include "tf-cluster.podSections" . | splitList " " }}
{{- $_ := set $places (printf "%s.podLabels" $role) (get $.Values $role | default dict).podLabels }}
{{- $_ := set $places (printf "%s.objectLabels" $role) (get $.Values $role | default dict).objectLabels }}
{{- end }}
{{- $reserved := list
  "app.kubernetes.io/name" "app.kubernetes.io/instance" "app.kubernetes.io/component" "app.kubernetes.io/version"
  "app.kubernetes.io/managed-by" "helm.sh/chart" }}
{{- $jobs := list "job-name" "controller-uid" "pod-template-hash" }}
{{- range $place, $labels := $places }}
{{- range $label, $_ := $labels }}
{{- if and (hasSuffix "podLabels" $place) (or (has $label $jobs) (hasPrefix "batch.kubernetes.io/" $label)) }}
{{ $place }} sets the label {{ $label }}, which Kubernetes sets: take another name.
{{- end }}
{{- if or (has $label $reserved) (hasPrefix "tf-cluster.io/" $label) }}
{{ $place }} sets the label {{ $label }}, which is the chart's own: take another name.
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

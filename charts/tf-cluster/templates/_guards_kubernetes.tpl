{{- /*
Guards against what Kubernetes would refuse when it has made some objects already, or would never start. Their
list is in _guards.tpl.
*/ -}}
{{- define "tf-cluster.guards.resources" -}}
{{- range include "tf-cluster.roles" . | fromJsonArray }}
{{- include "tf-cluster.guards.amounts" (list (printf "%s.resources" .name) (get $.Values .name | default dict).resources) }}
{{- end }}
{{- range $key := list "shmSize" "tmpSize" }}
{{- range $section := include "tf-cluster.podSections" $ | splitList " " }}
{{- include "tf-cluster.guards.bytes" (list (printf "%s.%s" $section $key) (get (get $.Values $section | default dict) $key)) }}
{{- end }}
{{- end }}
{{- end -}}

{{- /*
Amounts that do not go together, or that Kubernetes can't give so. Each complaint is a line. Takes a list: the place of
the resources, the resources.
*/ -}}
{{- define "tf-cluster.guards.amounts" -}}
{{- $at := first . }}
{{- $resources := last . | default dict }}
{{- $limits := $resources.limits | default dict }}
{{- $requests := $resources.requests | default dict }}
{{- range $name, $request := $requests }}
{{- $asked := include "tf-cluster.quantity" $request | float64 }}
{{- $most := include "tf-cluster.quantity" (get $limits $name) | float64 }}
{{- $place := printf "%s.requests.%s" $at $name }}
{{- $counted := or (contains "/" $name) (hasPrefix "hugepages-" $name) }}
{{- if and $counted (not (hasKey $limits $name)) }}
{{ $place }} has to stand in {{ $at }}.limits: of {{ $name }} Kubernetes gives what the limit says.
{{- else if and $counted (ne $asked $most) }}
{{ $place }} is {{ $request }}, and the limit {{ get $limits $name }}: of {{ $name }} both have to be the same. Leave the request out.
{{- else if and (hasKey $limits $name) (gt $asked $most) }}
{{ $place }} is {{ $request }}, over the limit of {{ get $limits $name }}: raise {{ $at }}.limits.{{ $name }}, too.
{{- end }}
{{- end }}
{{- range $kind, $amounts := dict "requests" $requests "limits" $limits }}
{{- range $name, $amount := $amounts }}
{{- $number := include "tf-cluster.quantity" $amount | float64 }}
{{- if and (contains "/" $name) (ne $number (floor $number)) }}
{{ $at }}.{{ $kind }}.{{ $name }} is {{ $amount }}: only whole ones can be asked for.
{{- else if and (contains "/" $name) (gt $number 9e15) }}
{{ $at }}.{{ $kind }}.{{ $name }} is {{ $amount }}: Kubernetes counts to 9000000000000000.
{{- end }}
{{- if has $name (list "memory" "ephemeral-storage") }}
{{- include "tf-cluster.guards.bytes" (list (printf "%s.%s.%s" $at $kind $name) $amount) }}
{{- end }}
{{- if hasPrefix "hugepages-" $name }}
{{- $page := trimPrefix "hugepages-" $name }}
{{- $pages := divf $number (include "tf-cluster.quantity" $page | float64) }}
{{- if ne $pages (floor $pages) }}
{{ $at }}.{{ $kind }}.{{ $name }} is {{ $amount }}: only whole pages of {{ $page }} can be asked for.
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{- /* Bytes without their unit: 4 is no 4Gi. No limit at all is 0. Takes a list: the place, the amount. */ -}}
{{- define "tf-cluster.guards.bytes" -}}
{{- $number := include "tf-cluster.quantity" (last . | default 0) | float64 }}
{{- if and (gt $number 0.0) (lt $number 1e6) }}
{{ first . }} is {{ last . }}, which is less than 1M: write the unit, as in 4Gi.
{{- end }}
{{- end -}}

{{- /* A quantity as a number: 250m is 0.25, 1Ki is 1024. The schema checks its form. */ -}}
{{- define "tf-cluster.quantity" -}}
{{- $factors := dict
  "n" 1e-9 "u" 1e-6 "m" 1e-3 "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "P" 1e15 "E" 1e18
  "Ki" 1024 "Mi" 1048576 "Gi" 1073741824 "Ti" 1099511627776 "Pi" 1125899906842624 "Ei" 1152921504606846976 -}}
{{- $text := toString . -}}
{{- $suffix := regexFind "[A-Za-z]+$" $text -}}
{{- mulf (trimSuffix $suffix $text | float64) (get $factors $suffix | default 1 | float64) -}}
{{- end -}}

{{- define "tf-cluster.guards.annotations" -}}
{{- $common := .Values.commonAnnotations | default dict }}
{{- $places := dict "commonAnnotations" $common }}
{{- range $role := include "tf-cluster.podSections" . | splitList " " }}
{{- $_ := set $places (printf "%s.podAnnotations" $role) (get $.Values $role | default dict).podAnnotations }}
{{- $_ := set $places (printf "%s.objectAnnotations" $role) (get $.Values $role | default dict).objectAnnotations }}
{{- end }}
{{- range $volume := list "data" "log" }}
{{- $claim := get ($.Values.storage | default dict) $volume | default dict }}
{{- $_ := set $places "serviceAccount.annotations" ($.Values.serviceAccount | default dict).annotations }}
{{- $_ := set $places (printf "storage.%s.annotations" $volume) $claim.annotations }}
{{- end }}
{{- range $place, $annotations := $places }}
{{- $size := 0 }}
{{- range $key, $text := $annotations | default dict }}{{ $size = add $size (len $key) (len $text) }}{{ end }}
{{- if gt (int64 $size) 261120 }}
{{ $place }} has {{ div $size 1024 }} KiB; an object of Kubernetes takes 256 KiB of annotations, and Helm's own are among them.
{{- end }}
{{- end }}
{{- end -}}

{{- /*
Helm reads numbers as float64: beyond 2^53 a task may get another number than was written. From 1e21 on JSON writes
an exponent. Such a number is a float, and nobody expects an exact one.
*/ -}}
{{- define "tf-cluster.guards.flags" -}}
{{- include "tf-cluster.guards.flag" (dict "path" "flags" "value" .Values.flags) -}}
{{- end -}}

{{- define "tf-cluster.guards.flag" -}}
{{- if kindIs "map" .value }}
{{- range $key, $value := .value }}
{{- include "tf-cluster.guards.flag" (dict "path" (printf "%s.%s" $.path $key) "value" $value) }}
{{- end }}
{{- else if kindIs "slice" .value }}
{{- range $index, $value := .value }}
{{- include "tf-cluster.guards.flag" (dict "path" (printf "%s[%d]" $.path $index) "value" $value) }}
{{- end }}
{{- else if has (kindOf .value) (list "float64" "int64" "int") }}
{{- $size := mulf .value (ternary -1 1 (lt (float64 .value) 0.0)) }}
{{- if and (gt $size 9007199254740991.0) (lt $size 1e21) }}
{{ .path }} is {{ toJson .value }}: Helm keeps numbers exactly only up to 9007199254740991 (2^53 - 1). Write it in quotes, as a
text, or take a smaller one.
{{- end }}
{{- end }}
{{- end -}}

{{- /* JSON leaves these characters as they are, but YAML can't hold them. Arguments and paths can't hold NUL. */ -}}
{{- define "tf-cluster.guards.characters" -}}
{{- $never := `[\x{7f}-\x{9f}\x{fffe}\x{ffff}]` }}
{{- $program := .Values.program | default dict }}
{{- $source := $program.source | default dict }}
{{- range $path, $value := dict "flags" .Values.flags "program.source" $source }}
{{- include "tf-cluster.guards.text" (dict "never" $never "path" $path "value" $value) }}
{{- end }}
{{- range $key := list "script" "path" "args" }}
{{- $neverHere := replace "[" `[\x{0}` $never }}
{{- $path := printf "program.%s" $key }}
{{- include "tf-cluster.guards.text" (dict "never" $neverHere "path" $path "value" (get $program $key)) }}
{{- end }}
{{- end -}}

{{- define "tf-cluster.guards.text" -}}
{{- if kindIs "map" .value }}
{{- range $key, $value := .value }}
{{- $path := printf "%s.%s" $.path $key }}
{{- with regexFind $.never $key }}
The name of {{ $path }} has the character {{ printf "%+q" . }}, which can't get to a task: take it out.
{{- end }}
{{- include "tf-cluster.guards.text" (dict "never" $.never "path" $path "value" $value) }}
{{- end }}
{{- else if kindIs "slice" .value }}
{{- range $index, $value := .value }}
{{- include "tf-cluster.guards.text" (dict "never" $.never "path" (printf "%s[%d]" $.path $index) "value" $value) }}
{{- end }}
{{- else if kindIs "string" .value }}
{{- with regexFind .never .value }}
{{ $.path }} has the character {{ printf "%+q" . }}, which can't get to a task: take it out.
{{- end }}
{{- end }}
{{- end -}}

{{- define "tf-cluster.guards.arguments" -}}
{{- $known := list "PS_HOSTS" "WORKER_HOSTS" "JOB_NAME" "TASK_INDEX" "DATA_DIR" "LOG_DIR" }}
{{- range $index, $argument := (.Values.program | default dict).args }}
{{- range $reference := regexFindAll "\\$(\\$|\\([^)]*\\))" $argument -1 }}
{{- $name := $reference | trimPrefix "$(" | trimSuffix ")" }}
{{- if not (has $name (append $known "$$")) }}
program.args[{{ $index }}] uses $({{ $name }}), which is not known. Known are $({{ join "), $(" $known }});
{{- printf " $$(%s) is the text itself." $name }}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{- /* A range begins where its prefix ends, and what is left out of it lies in it and is smaller. */ -}}
{{- define "tf-cluster.guards.ranges" -}}
{{- $policy := (.Values.security | default dict).networkPolicy | default dict }}
{{- $lists := dict "security.networkPolicy.statusFrom" $policy.statusFrom }}
{{- range include "tf-cluster.roles" . | fromJsonArray }}
{{- if .page }}{{ $_ := set $lists (printf "%s.allowFrom" .name) (get $.Values .name | default dict).allowFrom }}{{ end }}
{{- end }}
{{- range $list, $peers := $lists }}
{{- range $index, $peer := $peers }}
{{- with $peer.ipBlock }}
{{- $place := printf "%s[%d].ipBlock" $list $index }}
{{- $whole := include "tf-cluster.bits" .cidr }}
{{- range $range := prepend (.except | default list) .cidr }}
{{- $bits := include "tf-cluster.bits" $range }}
{{- $prefix := splitList "/" $range | last | int }}
{{- if contains "1" (substr $prefix (len $bits) $bits) }}
{{ $place }} has {{ $range }}, which has bits beyond its first {{ $prefix }}: Kubernetes wants them to be 0.
{{- end }}
{{- end }}
{{- $prefix := splitList "/" .cidr | last | int }}
{{- range $except := .except }}
{{- $bits := include "tf-cluster.bits" $except }}
{{- $inside := and (eq (len $bits) (len $whole)) (hasPrefix (substr 0 $prefix $whole) $bits) }}
{{- if not (and $inside (gt (splitList "/" $except | last | int) $prefix)) }}
{{ $place }}.except has {{ $except }}, which is no part of {{ $peer.ipBlock.cidr }}.
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{- /* A port of the nodes leads to one Service. Where a page has none, Kubernetes chooses it. */ -}}
{{- define "tf-cluster.guards.nodePorts" -}}
{{- $taken := dict }}
{{- range include "tf-cluster.pages" . | fromJsonArray }}
{{- $place := printf "%s.service.nodePort" .name }}
{{- with ((get $.Values .name).service | default dict).nodePort }}
{{- $port := int64 . | toString }}
{{- with get $taken $port }}
{{ $place }} is {{ $port }}, as {{ . }}: a port of the nodes leads to one Service. Take another, or leave one out.
{{- end }}
{{- $_ := set $taken $port $place }}
{{- end }}
{{- end }}
{{- end -}}

{{- /* The address of a range as 32 or 128 binary digits. */ -}}
{{- define "tf-cluster.bits" -}}
{{- $address := splitList "/" . | first -}}
{{- if contains "." $address -}}
{{- range splitList "." $address }}{{ int . | printf "%08b" }}{{ end -}}
{{- else -}}
{{- $ends := splitList "::" $address -}}
{{- $first := without (first $ends | splitList ":") "" -}}
{{- $last := list -}}
{{- if gt (len $ends) 1 }}{{ $last = without (last $ends | splitList ":") "" }}{{ end -}}
{{- range $first }}{{ printf "0x%s" . | int64 | printf "%016b" }}{{ end -}}
{{- range until (sub (sub 8 (len $first)) (len $last) | int) }}{{ repeat 16 "0" }}{{ end -}}
{{- range $last }}{{ printf "0x%s" . | int64 | printf "%016b" }}{{ end -}}
{{- end -}}
{{- end -}}

{{- /* A claim of the default class never binds to a volume of another class. A volume binds to one claim. */ -}}
{{- define "tf-cluster.guards.volumes" -}}
{{- $storage := .Values.storage | default dict }}
{{- range $volume := list "data" "log" }}
{{- $claim := get $storage $volume | default dict }}
{{- if and (kindIs "string" $claim.size) (lt (include "tf-cluster.quantity" $claim.size | float64) 1e6) }}
storage.{{ $volume }}.size is {{ $claim.size }}, which is less than 1M: write the unit, as in 5Gi.
{{- end }}
{{- range $key, $wanted := dict "volumeName" $claim.volumeName "selector" $claim.selector }}
{{- $made := not (or $claim.existingClaim (eq (toString $claim.enabled) "false")) }}
{{- $known := or (kindIs "string" $claim.storageClassName) ($.Values.global | default dict).storageClass }}
{{- if and $wanted $made (not $known) }}
{{- $class := printf "storage.%s.storageClassName" $volume }}
{{- $told := kindIs "string" $wanted | ternary $wanted (toJson $wanted) }}
storage.{{ $volume }}.{{ $key }} is {{ $told }}, and without {{ $class }} the claim asks for the cluster's
default class and never binds to a volume of another: set it to the volume's class, or to "" if it has none.
{{- end }}
{{- end }}
{{- end }}
{{- $data := ($storage.data | default dict).volumeName }}
{{- if and $data (eq (toString $data) (toString ($storage.log | default dict).volumeName)) }}
storage.data.volumeName and storage.log.volumeName are both {{ $data }}, and a volume binds to one claim: name two.
{{- end }}
{{- end -}}

{{- /*
A script is told all tasks in TF_CONFIG, and Linux hands a process no variable over 128 KiB. 256 bytes are more than
what is no worker and no ps.
*/ -}}
{{- define "tf-cluster.guards.hosts" -}}
{{- if (.Values.program | default dict).script }}
{{- $combination := include "tf-cluster.combination" . | fromJson }}
{{- $ps := eq (toString $combination.hasPs) "true" | ternary (int64 (.Values.ps | default dict).replicas) 0 }}
{{- $workers := int64 (.Values.worker | default dict).replicas }}
{{- $size := 256 }}
{{- range $role, $count := dict "worker" $workers "ps" $ps }}
{{- $address := printf `"%[1]s-%[2]s-01234567-.%[1]s-01234567:2222", ` (include "tf-cluster.fullname" $) $role | len }}
{{- $size = add $size (mul $count $address) }}
{{- range $start := list 0 10 100 1000 }}{{ $size = max 0 (sub $count $start) | add $size }}{{ end }}
{{- end }}
{{- if gt (int64 $size) 131072 }}
program.script: TF_CONFIG tells a script of {{ $workers }} workers and {{ $ps }} ps in {{ div $size 1024 }} KiB, and Linux hands a process
at most 128 KiB. Take fewer tasks, a shorter name, or a program.module.
{{- end }}
{{- end }}
{{- end -}}

{{- /* Pods that may be on several nodes, and a claim that is mounted on one: all but the first node's wait for ever. */ -}}
{{- define "tf-cluster.guards.colocate" -}}
{{- $storage := .Values.storage | default dict }}
{{- if eq (toString $storage.colocate) "false" }}
{{- range $volume := list "data" "log" }}
{{- $claim := get $storage $volume | default dict }}
{{- if and (include "tf-cluster.claim.isOfOneNode" $claim) (ne (toString $claim.enabled) "false") }}
storage.colocate is false, but storage.{{ $volume }}.accessModes is [{{ join ", " $claim.accessModes }}], which one node can mount. Set
storage.{{ $volume }}.accessModes to [ReadWriteMany] if its volume can be mounted on several, or leave storage.colocate out.
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{- /* An HTTPRoute that the cluster does not know would be refused when other objects are made already. */ -}}
{{- define "tf-cluster.guards.routes" -}}
{{- $api := "gateway.networking.k8s.io/v1/HTTPRoute" }}
{{- range $role := include "tf-cluster.pages" . | fromJsonArray }}
{{- $route := (get $.Values $role.name).httpRoute | default dict }}
{{- $parents := dict }}
{{- range ternary ($route.parentRefs | default list) list ($route.enabled | default false) }}
{{- $group := ternary .group "gateway.networking.k8s.io" (hasKey . "group") }}
{{- $parent := list $group (.kind | default "Gateway") .name (.namespace | default "") | toJson }}
{{- $_ := set $parents $parent (append (get $parents $parent | default list) (.sectionName | default "")) }}
{{- end }}
{{- range $sections := values $parents }}
{{- if and (gt (len $sections) 1) (or (has "" $sections) (ne (len $sections) (len (uniq $sections)))) }}
{{ $role.name }}.httpRoute.parentRefs names one parent again: give each a sectionName of its own, or leave it out.
{{- end }}
{{- end }}
{{- if and $route.enabled (not ($.Capabilities.APIVersions.Has $api)) }}
{{ $role.name }}.httpRoute.enabled is true, but this cluster has no {{ $api }}: install the Gateway API,
or use {{ $role.name }}.ingress. (helm template asks no cluster: give it --api-versions {{ $api }}.)
{{- end }}
{{- end }}
{{- end -}}

{{- /* What was asked for and can't be made. */ -}}
{{- define "tf-cluster.guards.operator" -}}
{{- $monitoring := .Values.monitoring | default dict }}
{{- range $key, $kind := dict "podMonitor" "PodMonitor" "rules" "PrometheusRule" }}
{{- $api := printf "monitoring.coreos.com/v1/%s" $kind }}
{{- if and (get $monitoring $key | default dict).enabled (not ($.Capabilities.APIVersions.Has $api)) }}
monitoring.{{ $key }}.enabled is true, but this cluster has no {{ $kind }}. The Prometheus operator brings it: install that, or
set monitoring.{{ $key }}.enabled to false. (helm template asks no cluster: give it --api-versions {{ $api }}.)
{{- end }}
{{- end }}
{{- end -}}

{{- /* Wishes that nothing could follow, and a gang that would wait for ever. */ -}}
{{- define "tf-cluster.guards.scheduling" -}}
{{- $gang := .Values.scheduling.gang }}
{{- $provider := $gang.provider }}
{{- if and (eq .Values.scheduling.placement "spread") (include "tf-cluster.colocate" .) }}
scheduling.placement is spread, but the pods that mount a claim have to share a node (storage.colocate): take claims that are
ReadWriteMany, or leave scheduling.placement out.
{{- end }}
{{- if and .Values.scheduling.psNearWorkers (not (include "tf-cluster.combination" . | fromJson).hasPs) }}
scheduling.psNearWorkers is true, but strategy {{ .Values.strategy }} has no parameter servers: leave it out.
{{- end }}
{{- $whose := dict "minMember" (list "coscheduling" "volcano") "schedulerName" (list "coscheduling" "volcano") }}
{{- $_ := set (set $whose "timeoutSeconds" (list "coscheduling")) "queue" (list "volcano") }}
{{- range $key, $providers := $whose }}
{{- if and (get $gang $key) (not (has $provider $providers)) }}
scheduling.gang.{{ $key }} is for {{ join " and " $providers }}, and scheduling.gang.provider is {{ $provider }}: leave one of them out.
{{- end }}
{{- end }}
{{- $known := include "tf-cluster.gang" . | fromJson }}
{{- if $known.api }}
{{- $size := include "tf-cluster.gang.size" . | int64 }}
{{- if gt (int64 ($gang.minMember | default 0)) $size }}
scheduling.gang.minMember is {{ int64 $gang.minMember }}, but the training has {{ $size }} tasks (chief, workers and ps): none would start.
{{- end }}
{{- $sections := list "pod" }}
{{- range include "tf-cluster.roles" . | fromJsonArray }}
{{- if .trains }}{{ $sections = append $sections .name }}{{ end }}
{{- end }}
{{- range $section := $sections }}
{{- $own := (get $.Values $section | default dict).schedulerName }}
{{- if and $own (ne $own $known.scheduler) }}
{{ $section }}.schedulerName is {{ $own }}, but {{ $known.scheduler }} schedules the gang: leave it out, or set
scheduling.gang.schedulerName.
{{- end }}
{{- range $map, $key := dict "podLabels" $known.label "podAnnotations" $known.annotation }}
{{- if and $key (hasKey (get (get $.Values $section | default dict) $map | default dict) $key) }}
{{ $section }}.{{ $map }} has {{ $key }}, which names the gang that pods are of: the chart writes it, leave it out.
{{- end }}
{{- end }}
{{- end }}
{{- $api := printf "%s/PodGroup" $known.api }}
{{- if not (.Capabilities.APIVersions.Has $api) }}
scheduling.gang.provider is {{ $provider }}, but this cluster has no {{ $api }}: install {{ $provider }} first.
(helm template asks no cluster: give it --api-versions {{ $api }}.)
{{- end }}
{{- end }}
{{- end -}}

{{- /* What brings a Prometheus that would see nothing. */ -}}
{{- define "tf-cluster.guards.monitoring" -}}
{{- $monitoring := .Values.monitoring | default dict }}
{{- $policy := (.Values.security | default dict).networkPolicy | default dict }}
{{- $asked := dict "podMonitor.enabled" ($monitoring.podMonitor | default dict).enabled "scrapeAnnotations" $monitoring.scrapeAnnotations }}
{{- range $key, $is := $asked }}
{{- if and $is $policy.enabled (not $policy.statusFrom) }}
monitoring.{{ $key }} is true, but security.networkPolicy.statusFrom lets nobody read the metrics: name Prometheus
there, as in [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: monitoring}}}].
{{- end }}
{{- end }}
{{- end -}}

{{- /*
The texts of a ConfigMap have at most 1 MiB. This guard renders them, so it comes last: by then the values are good
enough for that. Takes root.
*/ -}}
{{- define "tf-cluster.guards.size" -}}
{{- $draft := dict "root" . "names" (include "tf-cluster.names" (list . "00000000") | fromJson) }}
{{- /* Each has a last newline there. */ -}}
{{- $cluster := include "tf-cluster.config.cluster" $draft | len | add 1 }}
{{- $training := include "tf-cluster.config.training" $draft | len | add 1 }}
{{- $size := add $cluster $training }}
{{- if gt (int64 $size) 1048576 }}
The ConfigMap of the tasks would have {{ div $size 1024 }} KiB; Kubernetes takes 1024. It holds program and flags: put long
texts on the data volume.
{{- end }}
{{- end -}}

{{- /*
Guards on what users add to pods: names that have to differ, and names that have to be there. They look at the values of
each role as its pods get them. What stands in `pod` is told once, of the first role that minds.
*/ -}}
{{- define "tf-cluster.guards.pods" -}}
{{- $found := list -}}
{{- $told := list -}}
{{- range $row := include "tf-cluster.roles" . | fromJsonArray -}}
{{- $context := dict "root" $ "role" $row "names" (dict "config" "config") -}}
{{- $_ := set $context "pod" (include "tf-cluster.podValues" $context | fromJson) -}}
{{- $places := list -}}
{{- range $complaint := include "tf-cluster.guards.pod" $context | splitList "\n" | compact -}}
{{- $place := splitList " " $complaint | first -}}
{{- if not (has $place $told) -}}{{- $found = append $found $complaint -}}{{- end -}}
{{- $places = append $places $place -}}
{{- end -}}
{{- $told = concat $told $places -}}
{{- end -}}
{{- join "\n\n" $found -}}
{{- end -}}

{{- /* Complaints about the pods of a role, a line each. Takes root, role, pod, names. */ -}}
{{- define "tf-cluster.guards.pod" -}}
{{- $role := .role.name -}}
{{- $own := get .root.Values $role | default dict -}}
{{- $at := dict -}}
{{- $keys := list "extraVolumes" "extraVolumeMounts" "sidecars" "initContainers" "resourceClaims" -}}
{{- range $key := concat $keys (list "topologySpreadConstraints" "affinity") -}}
{{- $_ := set $at $key (printf "%s.%s" (ternary "pod" $role (kindIs "invalid" (index $own $key))) $key) -}}
{{- end -}}
{{- $ours := list "tmp" "shm" "config" "login" "data" "log" -}}
{{- $volumes := list -}}
{{- range .pod.extraVolumes }}
{{- if has .name $ours }}
{{ $at.extraVolumes }} has a volume named {{ .name }}, which is the chart's own name: take another.
{{- else if has .name $volumes }}
{{ $at.extraVolumes }} has two volumes named {{ .name }}.
{{- end }}
{{- $volumes = append $volumes .name }}
{{- $files := list }}
{{- range (.projected | default dict).sources }}
{{- range $source := . }}
{{- range $source.items }}
{{- if has .path $files }}
{{ $at.extraVolumes }} projects two files to {{ .path }}.
{{- end }}
{{- $files = append $files .path }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- $spread := list }}
{{- range $index, $_ := .pod.topologySpreadConstraints }}
{{- include "tf-cluster.guards.labelKeys" (list (printf "%s[%d]" $at.topologySpreadConstraints $index) .) }}
{{- $rule := printf "%s %s" .whenUnsatisfiable .topologyKey }}
{{- if has $rule $spread }}
{{ $at.topologySpreadConstraints }} says {{ $rule }} twice.
{{- end }}
{{- $spread = append $spread $rule }}
{{- end }}
{{- $affinity := .pod.affinity | default dict }}
{{- range $kind := list "podAffinity" "podAntiAffinity" }}
{{- $rules := get $affinity $kind | default dict }}
{{- range $when, $_ := $rules }}
{{- range $index, $term := . }}
{{- $place := printf "%s.%s.%s[%d]" $at.affinity $kind $when $index }}
{{- include "tf-cluster.guards.labelKeys" (list $place ($term.podAffinityTerm | default $term)) }}
{{- end }}
{{- end }}
{{- end }}
{{- range include "tf-cluster.pod.mounts" . | fromYamlArray }}
{{- if not (has .name (list "config" "login")) }}{{ $volumes = append $volumes .name }}{{ end }}
{{- end }}
{{- $paths := list }}
{{- range $index, $mount := .pod.extraVolumeMounts }}
{{- $place := printf "%s[%d]" $at.extraVolumeMounts $index }}
{{- $path := clean .mountPath }}
{{- if or (has $path (list "/" "/tmp" "/data" "/log" "/dev/shm" "/etc")) (hasPrefix "/etc/tf-cluster" $path) }}
{{ $place }} mounts {{ .name }} at {{ .mountPath }}, a place of the chart's own: take another.
{{- else if has $path $paths }}
{{ $place }} mounts a second volume at {{ .mountPath }}.
{{- end }}
{{- if not (has .name $volumes) }}
{{ $place }} mounts the volume {{ .name }}, which no pod of {{ $role }} has: add it to extraVolumes.
{{- end }}
{{- $paths = append $paths $path }}
{{- end }}
{{- include "tf-cluster.guards.twice" (list $at.resourceClaims .pod.resourceClaims) }}
{{- $claims := list }}
{{- range .pod.resourceClaims }}{{ $claims = append $claims .name }}{{ end }}
{{- include "tf-cluster.guards.containerResources" (list (printf "%s.resources" $role) .pod.resources $claims $role) }}
{{- $security := (.root.Values.security | default dict).podSecurityContext }}
{{- $contexts := list (list "security.podSecurityContext" $security) }}
{{- range $section := list "pod" $role }}
{{- $context := (get $.root.Values $section | default dict).containerSecurityContext }}
{{- $contexts = append $contexts (list (printf "%s.containerSecurityContext" $section) $context) }}
{{- end }}
{{- $users := list (include "tf-cluster.guards.user" $contexts) }}
{{- $names := list $role }}
{{- $pod := .pod }}
{{- range $key := list "sidecars" "initContainers" }}
{{- range $index, $container := index $pod $key }}
{{- $place := printf "%s[%d]" (get $at $key) $index }}
{{- if has .name $names }}
{{ $place }} is named {{ .name }}, as another container of {{ $role }}: take another name.
{{- end }}
{{- $names = append $names .name }}
{{- $context := list (printf "%s.securityContext" $place) .securityContext }}
{{- $users = append $users (include "tf-cluster.guards.user" (append $contexts $context)) }}
{{- $paths := list }}
{{- range .volumeMounts }}
{{- if not (has .name $volumes) }}
{{ $place }} mounts the volume {{ .name }}, which no pod of {{ $role }} has: add it to extraVolumes.
{{- end }}
{{- if has .mountPath $paths }}
{{ $place }} mounts a second volume at {{ .mountPath }}.
{{- end }}
{{- $paths = append $paths .mountPath }}
{{- end }}
{{- include "tf-cluster.guards.twice" (list (printf "%s.env" $place) .env) }}
{{- $ports := list }}
{{- $portNames := list }}
{{- range .ports }}
{{- $port := printf "%d/%s" (int64 .containerPort) (.protocol | default "TCP") }}
{{- if has $port $ports }}
{{ $place }}.ports has {{ $port }} twice.
{{- end }}
{{- $ports = append $ports $port }}
{{- with .name }}
{{- if has . $portNames }}
{{ $place }}.ports has two ports named {{ . }}.
{{- end }}
{{- $portNames = append $portNames . }}
{{- end }}
{{- end }}
{{- include "tf-cluster.guards.amounts" (list (printf "%s.resources" $place) .resources) }}
{{- include "tf-cluster.guards.containerResources" (list (printf "%s.resources" $place) .resources $claims $role) }}
{{- end }}
{{- end }}
{{- range uniq $users }}{{ . }}{{ end }}
{{- if and .pod.sidecars (semverCompare "<1.29.0-0" .root.Capabilities.KubeVersion.Version) }}
{{ $at.sidecars }} needs Kubernetes 1.29, where an init container may always restart; this is {{ .root.Capabilities.KubeVersion }}.
{{- end }}
{{- end -}}

{{- /*
User 0 in a container that must not be root: Kubernetes takes the pod, and no kubelet starts it. Takes a list of the
container's security contexts, each with its place: the pod's first, each laid over the ones before.
*/ -}}
{{- define "tf-cluster.guards.user" -}}
{{- $decided := dict }}
{{- range $level, $row := . }}
{{- range $key, $value := pick (last $row | default dict) "runAsUser" "runAsNonRoot" }}
{{- if not (kindIs "invalid" $value) }}
{{- $_ := set $decided $key (list $value $level (printf "%s.%s" (first $row) $key)) }}
{{- end }}
{{- end }}
{{- end }}
{{- $user := $decided.runAsUser }}
{{- $rule := $decided.runAsNonRoot }}
{{- if and $user $rule }}
{{- if and (eq (int64 (first $user)) 0) (first $rule) }}
{{- if gt (index $rule 1) (index $user 1) }}
{{ last $rule }} is true, and {{ last $user }} is 0, which is root: no kubelet starts that. Set it to false, or name a user.
{{- else }}
{{ last $user }} is 0, which is root, and {{ last $rule }} is true: no kubelet starts that. Name another user, or set
{{- print " " }}runAsNonRoot: false beside it.
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{- /*
A key whose value is the pod's own can't be selected in another way, too. Takes a list: the place of a rule with
matchLabelKeys and a selector, the rule.
*/ -}}
{{- define "tf-cluster.guards.labelKeys" -}}
{{- $place := first . }}
{{- $rule := last . }}
{{- $selector := $rule.labelSelector | default dict }}
{{- $selected := keys ($selector.matchLabels | default dict) }}
{{- range $selector.matchExpressions }}{{ $selected = append $selected .key }}{{ end }}
{{- range $rule.matchLabelKeys }}
{{- if has . $selected }}
{{ $place }} has {{ . }} in matchLabelKeys and in labelSelector: keep one of them.
{{- else if has . ($rule.mismatchLabelKeys | default list) }}
{{ $place }} has {{ . }} in matchLabelKeys and in mismatchLabelKeys: keep one of them.
{{- end }}
{{- end }}
{{- end -}}

{{- /* Takes a list: the place of a list, and the list, whose entries' names have to differ. */ -}}
{{- define "tf-cluster.guards.twice" -}}
{{- $seen := list }}
{{- range last . }}
{{- if has .name $seen }}
{{ first $ }} has {{ .name }} twice.
{{- end }}
{{- $seen = append $seen .name }}
{{- end }}
{{- end -}}

{{- define "tf-cluster.guards.sysctls" -}}
{{- $context := (.Values.security | default dict).podSecurityContext | default dict }}
{{- include "tf-cluster.guards.twice" (list "security.podSecurityContext.sysctls" $context.sysctls) }}
{{- end -}}

{{- /* Takes a list: the place of the resources, the resources, the pod's claims, the role. */ -}}
{{- define "tf-cluster.guards.containerResources" -}}
{{- $place := first . }}
{{- $claims := index . 2 }}
{{- $role := last . }}
{{- $resources := index . 1 | default dict }}
{{- range $resources.claims }}
{{- if not (has .name $claims) }}
{{ $place }}.claims names {{ .name }}, which no pod of {{ $role }} has: add it to resourceClaims.
{{- end }}
{{- end }}
{{- include "tf-cluster.guards.twice" (list (printf "%s.claims" $place) $resources.claims) }}
{{- $names := keys ($resources.requests | default dict) ($resources.limits | default dict) }}
{{- if and (contains "hugepages-" (join " " $names)) (not (or (has "cpu" $names) (has "memory" $names))) }}
{{ $place }} asks for huge pages alone: Kubernetes gives them beside cpu or memory, so ask for one of these, too.
{{- end }}
{{- end -}}

{{- /*
Fields that came to Kubernetes after the lowest version that this chart is for: an older one drops them, or refuses the
object when others are made already. tests/chart/kubernetes holds the list to both OpenAPIs.
*/ -}}
{{- define "tf-cluster.guards.versions" -}}
{{- $needs := dict }}
{{- $contexts := dict "security.podSecurityContext" (.Values.security | default dict).podSecurityContext }}
{{- $resources := dict }}
{{- range $section := include "tf-cluster.podSections" . | splitList " " }}
{{- $values := get $.Values $section | default dict }}
{{- $_ := set $contexts (printf "%s.containerSecurityContext" $section) $values.containerSecurityContext }}
{{- $_ := set $resources (printf "%s.resources" $section) $values.resources }}
{{- range $key := list "sidecars" "initContainers" }}
{{- range $index, $container := index $values $key }}
{{- $_ := set $contexts (printf "%s.%s[%d].securityContext" $section $key $index) $container.securityContext }}
{{- $_ := set $resources (printf "%s.%s[%d].resources" $section $key $index) $container.resources }}
{{- end }}
{{- end }}
{{- if $values.resourceClaims }}{{ $_ := set $needs (printf "%s.resourceClaims" $section) "1.31" }}{{ end }}
{{- range $kind := list "podAffinity" "podAntiAffinity" }}
{{- range $when, $terms := get ($values.affinity | default dict) $kind | default dict }}
{{- range $index, $term := $terms }}
{{- range $key := list "matchLabelKeys" "mismatchLabelKeys" }}
{{- if get ($term.podAffinityTerm | default $term) $key }}
{{- $_ := set $needs (printf "%s.affinity.%s.%s[%d].%s" $section $kind $when $index $key) "1.29" }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- range $place, $context := $contexts }}
{{- range $key, $version := dict "appArmorProfile" "1.30" "supplementalGroupsPolicy" "1.31" }}
{{- if get ($context | default dict) $key }}{{ $_ := set $needs (printf "%s.%s" $place $key) $version }}{{ end }}
{{- end }}
{{- end }}
{{- range $place, $amounts := $resources }}
{{- range $index, $claim := ($amounts | default dict).claims }}
{{- if $claim.request }}{{ $_ := set $needs (printf "%s.claims[%d].request" $place $index) "1.31" }}{{ end }}
{{- end }}
{{- end }}
{{- range $place, $version := $needs }}
{{- if semverCompare (printf "<%s.0-0" $version) $.Capabilities.KubeVersion.Version }}
{{ $place }} needs Kubernetes {{ $version }}; this is {{ $.Capabilities.KubeVersion.Version }}. Leave it out.
{{- end }}
{{- end }}
{{- end -}}

{{- define "tf-cluster.guards.account" -}}
{{- $account := .Values.serviceAccount | default dict }}
{{- if and $account.annotations (not $account.create) }}
serviceAccount.annotations are for an account that the chart makes: set serviceAccount.create to true, or annotate
{{ $account.name | default "the namespace's default account" }} yourself.
{{- end }}
{{- if and $account.create (eq (include "tf-cluster.serviceAccount" .) "default") }}
The account to make would be called default, as the one that every namespace has. Set serviceAccount.name to another
name, or leave serviceAccount.create out.
{{- end }}
{{- end -}}

{{- /* Complaints that a schema can't make in plain words, all at once. Every object's file includes this first. */ -}}
{{- define "tf-storage.guards" -}}
{{- $complaints := list -}}
{{- range $guard := list "removed" "heketi" "kinds" "default" "volumes" -}}
{{- with include (printf "tf-storage.guards.%s" $guard) $ | trim -}}{{- $complaints = append $complaints . -}}{{- end -}}
{{- end -}}
{{- if not .Values.enabled -}}
{{- $complaints = append $complaints "enabled is false: only an umbrella chart can leave this chart out." -}}
{{- end -}}
{{- $at := .Chart.IsRoot | ternary "" "tf-storage." -}}
{{- with join "\n\n" $complaints -}}
{{- regexReplaceAll "(^|[ \n])(classes|volumes)\\." . (printf "${1}%s${2}." $at) | printf "\n\n%s\n" | fail -}}
{{- end -}}
{{- end -}}

{{- /* What Kubernetes 1.26 took away. */ -}}
{{- define "tf-storage.guards.removed" -}}
{{- $version := .Capabilities.KubeVersion.Version }}
{{- if semverCompare ">=1.26.0-0" $version }}
{{- range $name, $class := include "tf-storage.classes" . | fromJson }}
{{- if eq $class.kind "heketi" }}
classes.{{ $name }}.kind is heketi, whose provisioner Kubernetes removed in 1.26; this is {{ $version }}. Take kind kadalu or nfs,
or mount GlusterFS on the nodes and make a volume with hostPath.
{{- end }}
{{- end }}
{{- range $name, $volume := include "tf-storage.volumes" . | fromJson }}
{{- if $volume.glusterfs }}
volumes.{{ $name }}.glusterfs is for the plugin that Kubernetes removed in 1.26; this is {{ $version }}. Mount GlusterFS on the
nodes and set volumes.{{ $name }}.hostPath to a directory of it.
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "tf-storage.guards.heketi" -}}
{{- range $name, $class := include "tf-storage.classes" . | fromJson }}
{{- if eq $class.kind "heketi" }}
{{- $heketi := $class.heketi }}
{{- $place := printf "classes.%s.heketi" $name }}
{{- if not $heketi.resturl }}
{{ $place }}.resturl is empty: where is Heketi?
{{- end }}
{{- if ne (empty $heketi.secretName) (empty $heketi.secretNamespace) }}
{{ $place }}.secretName and {{ $place }}.secretNamespace need each other.
{{- end }}
{{- if and $heketi.restuserkey $heketi.secretName }}
{{ $place }}.restuserkey would do nothing beside {{ $place }}.secretName: remove one of the two.
{{- end }}
{{- if eq (toString $heketi.restauthenabled) "false" }}
{{- range $key, $value := pick $heketi "restuser" "restuserkey" "secretName" "secretNamespace" }}
{{- if $value }}
{{ $place }}.restauthenabled is false, so {{ $place }}.{{ $key }} would do nothing: remove one of the two.
{{- end }}
{{- end }}
{{- end }}
{{- if gt (int64 ($heketi.gidMin | default 2000)) (int64 ($heketi.gidMax | default 2147483647)) }}
{{ $place }}.gidMin is {{ int64 $heketi.gidMin }}, above {{ $place }}.gidMax, {{ int64 $heketi.gidMax }}.
{{- end }}
{{- if $class.parameters }}
classes.{{ $name }}.parameters: the provisioner of heketi refuses what is not below {{ $place }}. Leave them out.
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "tf-storage.guards.kinds" -}}
{{- range $name, $class := include "tf-storage.classes" . | fromJson }}
{{- $place := printf "classes.%s" $name }}
{{- range $kind := list "heketi" "kadalu" "nfs" }}
{{- if and (ne $kind $class.kind) (get (get $.Values.classes $name) $kind) }}
{{ $place }}.{{ $kind }} is set, but {{ $place }}.kind is {{ $class.kind }}: remove one of the two.
{{- end }}
{{- end }}
{{- if and (eq $class.kind "custom") (not $class.provisioner) }}
{{ $place }}.provisioner is empty: who makes the volumes of a custom class?
{{- else if and (has $class.kind (list "heketi" "kadalu")) $class.provisioner }}
{{ $place }}.provisioner is {{ $class.provisioner }}, but {{ $place }}.kind is {{ $class.kind }}, which has its own:
take kind custom, or leave it out.
{{- end }}
{{- if and (eq $class.kind "nfs") $class.provisioner }}
{{- if get (get $.Values.classes $name) "nfs" }}
{{ $place }}.nfs is for nfs.csi.k8s.io, but {{ $place }}.provisioner is {{ $class.provisioner }}:
give that its parameters below {{ $place }}.parameters.
{{- end }}
{{- else if eq $class.kind "nfs" }}
{{- range $key := list "server" "share" }}
{{- if not (get $class.nfs $key) }}
{{ $place }}.nfs.{{ $key }} is empty: nfs.csi.k8s.io has to know it.
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "tf-storage.guards.default" -}}
{{- $names := list }}
{{- range $name, $class := include "tf-storage.classes" . | fromJson }}
{{- if $class.isDefault }}{{ $names = append $names $name }}{{ end }}
{{- end }}
{{- if gt (len $names) 1 }}
The classes {{ join ", " $names }} have isDefault: a cluster has one default class.
{{- end }}
{{- end -}}

{{- define "tf-storage.guards.volumes" -}}
{{- range $name, $volume := include "tf-storage.volumes" . | fromJson }}
{{- $place := printf "volumes.%s" $name }}
{{- $sources := list }}
{{- range $source := list "nfs" "glusterfs" "hostPath" }}
{{- if get $volume $source }}{{ $sources = append $sources $source }}{{ end }}
{{- end }}
{{- if ne (len $sources) 1 }}
{{ $place }} has {{ $sources | empty | ternary "no source" (join " and " $sources) }}: give it one of nfs, glusterfs and hostPath.
{{- end }}
{{- if and $volume.hostPath $volume.mountOptions }}
{{ $place }}.mountOptions would do nothing: a hostPath is mounted already. Give them to the mount on the node.
{{- end }}
{{- with $volume.glusterfs }}
{{- if eq (empty .servers) (empty .endpoints) }}
{{ $place }}.glusterfs needs one of servers and endpoints.
{{- else if and .servers (not (regexMatch "^[a-z]([a-z0-9-]{0,61}[a-z0-9])?$" $name)) }}
{{ $place }}: its Service has the same name, which needs a letter first, then letters, digits and -, 63 at most.
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{- /* The values of karpenter-provider-proxmox' chart that karpenter.original has, as text or as an object. */ -}}
{{- define "proxplane.original" -}}
{{- $o := .Values.karpenter.original | default dict }}
{{- if kindIs "string" $o }}
{{- $o = fromYaml $o | default dict }}
{{- with $o.Error }}{{ fail (printf "karpenter.original has to be the values of karpenter-provider-proxmox, in YAML: %s" .) }}{{ end }}
{{- end }}
{{- /* Objects named default have the specs of its chart below their own. */ -}}
{{- $defaults := dict
  "nodeTemplate" (dict "kind" "ProxmoxUnmanagedTemplate" "spec" (dict "templateName" "talos"))
  "nodeClass" (dict "spec" (dict "instanceTemplateRef" (dict "kind" "ProxmoxUnmanagedTemplate" "name" "default") "bootDevice" (dict "size" "30Gi") "securityGroups" (list (dict "name" "kubernetes" "interface" "net0")) "tags" (list "karpenter")))
  "nodePools" (dict "spec" (dict "limits" (dict "cpu" "64" "memory" "512Gi") "template" (dict "spec" (dict "nodeClassRef" (dict "group" "karpenter.proxmox.sinextra.dev" "kind" "ProxmoxNodeClass" "name" "default")))))
}}
{{- range $kind, $default := $defaults }}
{{- with dig "customResources" $kind "default" dict $o }}
{{- $_ := set (get $o.customResources $kind) "default" (include "proxplane.over" (list $default .) | fromJson) }}
{{- end }}
{{- end }}
{{- toJson $o }}
{{- end }}

{{- /* Values over others, as Helm puts them together: maps key by key, and null takes a key away. */ -}}
{{- define "proxplane.over" -}}
{{- $out := deepCopy (index . 0) }}
{{- range $key, $value := index . 1 }}
{{- if kindIs "invalid" $value }}{{ $_ := unset $out $key }}
{{- else if and (kindIs "map" $value) (kindIs "map" (get $out $key)) }}{{ $_ := set $out $key (include "proxplane.over" (list (get $out $key) $value) | fromJson) }}
{{- else }}{{ $_ := set $out $key $value }}{{ end }}
{{- end }}
{{- toJson $out }}
{{- end }}

{{- /* The chart's values, with those of karpenter.original in their places. What is set here counts before what is set there. */ -}}
{{- define "proxplane.values" -}}
{{- $v := deepCopy .Values }}
{{- $k := $v.karpenter }}
{{- $o := include "proxplane.original" . | fromJson }}
{{- if .Values.karpenter.original }}
{{- $_ := set $k "enabled" true }}
{{- /* The pod. */ -}}
{{- with $o.replicaCount }}{{ $_ := set $v "replicas" (int .) }}{{ end }}
{{- with $o.logVerbosityLevel }}{{ $_ := set $v.log "level" . }}{{ end }}
{{- with $o.imagePullSecrets }}{{ $_ := set $v.image "pullSecrets" (concat $v.image.pullSecrets .) }}{{ end }}
{{- if not $v.priorityClassName }}{{ $_ := set $v "priorityClassName" (hasKey $o "priorityClassName" | ternary $o.priorityClassName "system-cluster-critical") }}{{ end }}
{{- $untainted := list (dict "effect" "NoSchedule" "key" "node-role.kubernetes.io/control-plane" "operator" "Exists") (dict "effect" "NoSchedule" "key" "node.cloudprovider.kubernetes.io/uninitialized" "operator" "Exists") }}
{{- if not $v.tolerations }}{{ $_ := set $v "tolerations" (hasKey $o "tolerations" | ternary $o.tolerations $untainted) }}{{ end }}
{{- range list "affinity" "nodeSelector" }}{{ if not (get $v .) }}{{ $_ := set $v . (get $o . | default dict) }}{{ end }}{{ end }}
{{- range list "podAnnotations" "podLabels" }}{{ $_ := set $v . (merge (get $v .) (get $o . | default dict)) }}{{ end }}
{{- range list "hostAliases" "initContainers" "extraVolumes" "extraVolumeMounts" }}{{ $_ := set $v . (concat (get $v .) (get $o . | default list)) }}{{ end }}
{{- /* Regions: a Secret of theirs, or one that is made of config. Without either, they have made it themselves by this name. */ -}}
{{- if not $k.regionsSecret }}
{{- $name := "karpenter-provider-proxmox" }}
{{- if and $o.nameOverride (not (contains $o.nameOverride $name)) }}{{ $name = printf "%s-%s" $name $o.nameOverride | trunc 63 | trimSuffix "-" }}{{ end }}
{{- with $o.fullnameOverride }}{{ $name = . }}{{ end }}
{{- if $o.existingConfigSecret }}
{{- $_ := set $k "regionsSecret" (printf "%s/%s/%s" .Release.Namespace $o.existingConfigSecret ($o.existingConfigSecretKey | default "config.yaml")) }}
{{- else if dig "config" "clusters" list $o }}
{{- $_ := set $k "regionsSecret" (printf "%s/%s-karpenter-regions" .Release.Namespace (include "proxplane.name" .)) }}
{{- $_ := set $k "regions" $o.config }}
{{- else }}
{{- $_ := set $k "regionsSecret" (printf "%s/%s" .Release.Namespace $name) }}
{{- end }}
{{- end }}
{{- $ports := $v.networkPolicy.proxmox.ports }}
{{- range dig "config" "clusters" list $o }}
{{- $port := regexFind "^https?://[^/]*:[0-9]+" (.url | default "") | regexFind "[0-9]+$" | default "443" | int }}
{{- if not (has (toString $port) (toStrings $ports)) }}{{ $ports = append $ports $port }}{{ end }}
{{- end }}
{{- $_ := set $v.networkPolicy.proxmox "ports" $ports }}
{{- /* Karpenter's settings, and those of its provider: variables, then flags, which count more. */ -}}
{{- $arguments := list }}
{{- $own := dict }}
{{- range $o.extraEnvs }}
{{- if and .value (has .name (list "INSTANCE_TYPES_FILE" "NODE_POLICY" "NODE_SETTING_FILE" "PROXMOX_VMID" "CLOUD_CONFIG")) }}
{{- $_ := set $own (.name | lower | replace "_" "-") .value }}
{{- else }}
{{- $_ := set $v "extraEnv" (append $v.extraEnv .) }}
{{- end }}
{{- end }}
{{- with $o.settings }}
{{- range $name, $flag := dict "batchMaxDuration" "batch-max-duration" "batchIdleDuration" "batch-idle-duration" "preferencePolicy" "preference-policy" "minValuesPolicy" "min-values-policy" }}
{{- with get $o.settings $name }}{{ $arguments = append $arguments (printf "--%s=%s" $flag (tpl (toString .) $)) }}{{ end }}
{{- end }}
{{- $gates := list }}
{{- range $name, $on := .featureGates }}{{ $gates = append $gates (printf "%s=%v" (title $name) $on) }}{{ end }}
{{- with $gates }}{{ $arguments = append $arguments (printf "--feature-gates=%s" (join "," .)) }}{{ end }}
{{- end }}
{{- range regexReplaceAll "\n([^-])" (join "\n" $o.extraArgs) "=${1}" | splitList "\n" }}
{{- $name := trimPrefix "-" . | trimPrefix "-" | splitList "=" | first }}
{{- $value := regexReplaceAll "^[^=]*=?" . "" }}
{{- if has $name (list "instance-types-file" "node-policy" "node-setting-file" "proxmox-vmid") }}
{{- $_ := set $own $name $value }}
{{- else if eq $name "log-level" }}
{{- $_ := set $v.log "level" $value }}
{{- else if not (has $name (list "" "cloud-config" "metrics-port" "health-probe-port" "leader-election-name" "leader-election-namespace" "disable-leader-election" "karpenter-service" "memory-limit" "log-output-paths" "log-error-output-paths")) }}
{{- $arguments = append $arguments (printf "--%s" (trimPrefix "-" . | trimPrefix "-")) }}
{{- end }}
{{- end }}
{{- $_ := set $k "arguments" (concat $arguments $k.arguments) }}
{{- if eq $k.nodePolicy "simple" }}{{ $_ := set $k "nodePolicy" (get $own "node-policy" | default "simple") }}{{ end }}
{{- if not $k.vmids }}{{ with get $own "proxmox-vmid" }}{{ $_ := set $k "vmids" (printf "%d-%d" (int .) (max 99999 (add (int .) 9999))) }}{{ end }}{{ end }}
{{- $files := list }}
{{- with get $own "instance-types-file" }}{{ if not $k.instanceTypes }}{{ $files = append $files (printf "--karpenter-instance-types=%s" .) }}{{ end }}{{ end }}
{{- with get $own "node-setting-file" }}{{ if not $k.nodeSettings }}{{ $files = append $files (printf "--karpenter-node-settings=%s" .) }}{{ end }}{{ end }}
{{- $_ := set $v "extraArgs" (concat $files $v.extraArgs) }}
{{- end }}
{{- toJson $v }}
{{- end }}

{{- /* What of karpenter.original isn't taken over, joined by commas. */ -}}
{{- define "proxplane.left" -}}
{{- $o := include "proxplane.original" . | fromJson }}
{{- $taken := list "replicaCount" "logVerbosityLevel" "imagePullSecrets" "priorityClassName" "tolerations" "affinity" "nodeSelector" "podAnnotations" "podLabels" "hostAliases" "initContainers" "extraVolumes" "extraVolumeMounts" "nameOverride" "fullnameOverride" "existingConfigSecret" "existingConfigSecretKey" "configFile" "config" "settings" "extraEnvs" "extraArgs" "customResources" }}
{{- $left := list }}
{{- range $key, $_ := $o }}{{ if not (has $key $taken) }}{{ $left = append $left $key }}{{ end }}{{ end }}
{{- if dig "settings" "vmMemoryOverheadPercent" "" $o }}{{ $left = append $left "settings.vmMemoryOverheadPercent" }}{{ end }}
{{- join ", " $left }}
{{- end }}

{{- /* An object of customResources: root, apiVersion, kind, name, spec. It stays when it is no longer asked for, since its nodes would go with it. */ -}}
{{- define "proxplane.custom" }}
---
apiVersion: {{ index . 1 }}
kind: {{ index . 2 }}
metadata:
  name: {{ index . 3 }}
  labels: {{- include "proxplane.labels" (index . 0) | nindent 4 }}
  annotations: {helm.sh/resource-policy: keep}
spec: {{- index . 4 | toYaml | nindent 2 }}
{{- end }}

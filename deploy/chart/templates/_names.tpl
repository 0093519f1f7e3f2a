{{- define "proxplane.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 52 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 52 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "proxplane.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "proxplane.labels" -}}
{{ include "proxplane.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "proxplane.account" -}}
{{- .Values.serviceAccount.name | default (.Values.serviceAccount.create | ternary (include "proxplane.name" .) "default") }}
{{- end }}

{{- /* What is done with the objects of a namespace. */ -}}
{{- define "proxplane.rules" -}}
- apiGroups: [infra.virtrigaud.io]
  resources: [providers, virtualmachines, vmclasses, vmclones, vmimages, vmplacementpolicies, vmsnapshots]
  verbs: [list, watch]
- apiGroups: [infra.virtrigaud.io] # whether something was made for them, before they are let go
  resources: [virtualmachines, vmclones, vmimages]
  verbs: [get]
- apiGroups: [infra.virtrigaud.io] # finalizers
  resources: [providers, virtualmachines, vmclasses, vmclones, vmimages, vmplacementpolicies, vmsnapshots]
  verbs: [patch]
- apiGroups: [infra.virtrigaud.io]
  resources: [providers/status, virtualmachines/status, vmclasses/status, vmclones/status, vmimages/status, vmplacementpolicies/status, vmsnapshots/status]
  verbs: [patch]
- apiGroups: [""] # user-data; only those that objects name are read, of others just the names
  resources: [configmaps]
  verbs: [get, list, watch]
{{- if not .Values.rbac.secretNamespaces }}
{{ include "proxplane.secretRules" . }}
{{- end }}
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create, patch]
{{- end }}

{{- /* What is done with the Secrets of a namespace. */ -}}
{{- define "proxplane.secretRules" -}}
- apiGroups: [""] # logins and user-data; only those that objects name are read, of others just the names
  resources: [secrets]
  verbs: [get, list, watch]
- apiGroups: [""] # the finalizer of logins, which are needed until the machines are gone
  resources: [secrets]
  verbs: [patch]
{{- end }}

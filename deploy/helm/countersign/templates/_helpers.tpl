{{/* The prefix of all names: the release's, with the chart's where the release is called otherwise. */}}
{{- define "countersign.fullname" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{ .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else -}}
{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 40 | trimSuffix "-" }}
{{- end -}}
{{- end }}

{{/* The labels by which Services and policies find the pods of a process: (list $ "auth"). */}}
{{- define "countersign.selector" -}}
app.kubernetes.io/instance: {{ (index . 0).Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end }}

{{- define "countersign.labels" -}}
{{- $root := index . 0 -}}
{{ include "countersign.selector" . }}
app.kubernetes.io/name: {{ $root.Chart.Name }}
app.kubernetes.io/version: {{ $root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ $root.Release.Service }}
helm.sh/chart: {{ $root.Chart.Name }}-{{ $root.Chart.Version }}
{{- end }}

{{/* The reference of an image: (list $ .Values.image.service). */}}
{{- define "countersign.image" -}}
{{- $root := index . 0 -}}
{{- with index . 1 -}}
{{ .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ $root.Values.image.tag | default $root.Chart.AppVersion }}{{ end }}
{{- end -}}
{{- end }}

{{/* The table of callers as JSON: the installation's, or the chart's peers.json. */}}
{{- define "countersign.peers" -}}
{{ .Values.peers | default (.Files.Get "peers.json" | fromJson) | toJson }}
{{- end }}

{{/*
The callers of each service, {"auth": {"gateway": true, …}, …}, as JSON. Health and reflection are open to all
who may call the service anyway; rpc.v1.Calls carries the calls of the others.
*/}}
{{- define "countersign.callers" -}}
{{- $callers := dict -}}
{{- range $rpc, $rule := (include "countersign.peers" . | fromJson).rpcs -}}
{{- $service := index (splitList "." $rpc) 0 -}}
{{- if not (has $service (list "grpc" "rpc")) -}}
{{- range $rule.callers -}}
{{- $_ := set $callers $service (merge (get $callers $service | default dict) (dict . true)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{ $callers | toJson }}
{{- end }}

{{- define "countersign.podSecurity" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
fsGroupChangePolicy: OnRootMismatch
seccompProfile: { type: RuntimeDefault }
{{- end }}

{{- define "countersign.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end }}

{{/* What all pods have: (list $ "auth"). */}}
{{- define "countersign.podCommon" -}}
{{- $root := index . 0 -}}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext: {{- include "countersign.podSecurity" . | nindent 2 }}
{{- with $root.Values.image.pullSecrets }}
imagePullSecrets: {{- range . }}
  - name: {{ . }}
{{- end }}
{{- end }}
{{- with $root.Values.hostAliases }}
hostAliases: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $root.Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $root.Values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/*
What both Deployments have in common. Each takes a dict: root, component (service or watcher), part (its values), and what is said there.
*/}}

{{/* The spec of a Deployment up to its Pods' spec. annotations: those of the Pod beside the user's. recreate: "true" for that strategy. */}}
{{- define "kuberay-advisor.deployment" -}}
replicas: {{ .part.replicas }}
revisionHistoryLimit: {{ .part.revisionHistoryLimit }}
{{- if .part.strategy }}
strategy:
  {{- toYaml .part.strategy | nindent 2 }}
{{- else if .recreate }}
strategy:
  type: Recreate
{{- else }}
strategy:
  type: RollingUpdate
  rollingUpdate:
    maxSurge: 1
    maxUnavailable: 0
{{- end }}
selector:
  matchLabels:
    {{- include "kuberay-advisor.selectorLabels" (list .root .component) | nindent 4 }}
{{- end }}

{{- define "kuberay-advisor.podMetadata" -}}
{{- /* Without the chart's version: a new one would replace the Pod for nothing. */}}
{{- $own := omit (include "kuberay-advisor.labels" (list .root .component) | fromYaml) "helm.sh/chart" "app.kubernetes.io/managed-by" -}}
labels:
  {{- toYaml (mustMergeOverwrite (dict) .part.podLabels $own) | nindent 2 }}
{{- with mustMergeOverwrite (dict) .part.podAnnotations (.annotations | default dict) }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* The Pod's spec before its containers. */}}
{{- define "kuberay-advisor.podSpec" -}}
serviceAccountName: {{ include "kuberay-advisor.serviceAccountName" (list .root .component .part) }}
automountServiceAccountToken: {{ .part.serviceAccount.automount }}
{{- /* Variables for each Service of the namespace would only stand in the way of the program's own. */}}
enableServiceLinks: false
{{- include "kuberay-advisor.imagePullSecrets" .root }}
securityContext:
  {{- include "kuberay-advisor.podSecurityContext" .root | nindent 2 }}
terminationGracePeriodSeconds: {{ .part.terminationGracePeriodSeconds }}
{{- range $key := list "priorityClassName" "runtimeClassName" "schedulerName" "dnsPolicy" }}
{{- with index $.part $key }}
{{ $key }}: {{ . }}
{{- end }}
{{- end }}
{{- range $key := list "nodeSelector" "tolerations" "affinity" "topologySpreadConstraints" "hostAliases" "dnsConfig" "initContainers" }}
{{- with index $.part $key }}
{{ $key }}:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- end }}

{{- define "kuberay-advisor.imagePullSecrets" -}}
{{- with concat (.Values.global.imagePullSecrets | default list) .Values.imagePullSecrets | uniq }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- end }}

{{/* The container between its arguments and its mounts. port: its port's name. env: variables before the user's. */}}
{{- define "kuberay-advisor.container" -}}
image: {{ include "kuberay-advisor.image" .root }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
securityContext:
  {{- toYaml .root.Values.securityContext | nindent 2 }}
{{- with concat (.env | default list) .part.extraEnv }}
env:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .part.extraEnvFrom }}
envFrom:
  {{- toYaml . | nindent 2 }}
{{- end }}
ports:
  - name: {{ .port }}
    containerPort: {{ .part.port }}
    protocol: TCP
startupProbe:
  {{- include "kuberay-advisor.probe" (list "/healthz" .port .part.startupProbe) | nindent 2 }}
livenessProbe:
  {{- include "kuberay-advisor.probe" (list "/healthz" .port .part.livenessProbe) | nindent 2 }}
readinessProbe:
  {{- include "kuberay-advisor.probe" (list "/readyz" .port .part.readinessProbe) | nindent 2 }}
{{- with .part.resources }}
resources:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* Takes a list: path, port, times. */}}
{{- define "kuberay-advisor.probe" -}}
httpGet:
  path: {{ index . 0 }}
  port: {{ index . 1 }}
  {{- /* The service answers to names that it knows; the kubelet would ask by the Pod's address. */}}
  httpHeaders:
    - name: Host
      value: localhost
{{ toYaml (index . 2) }}
{{- end }}

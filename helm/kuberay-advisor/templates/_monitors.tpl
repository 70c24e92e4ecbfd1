{{/*
The parts that are scraped, as YAML below "parts": component, port, namespace (of Service and Pod), selector (labels of the Pod), login (whether the
service's token is needed), foreign (whether the operator is in another namespace).
*/}}
{{- define "kuberay-advisor.scraped" -}}
{{- $own := include "kuberay-advisor.namespace" . }}
{{- $operators := include "kuberay-advisor.operatorNamespace" . -}}
parts:
{{- if .Values.serve.enabled }}
  - component: service
    port: http
    namespace: {{ $own }}
    login: {{ not (empty .Values.serve.login.existingSecret) }}
    selector:
      {{- include "kuberay-advisor.selectorLabels" (list . "service") | nindent 6 }}
{{- end }}
{{- if .Values.watcher.enabled }}
  - component: watcher
    port: metrics
    namespace: {{ $own }}
    foreign: {{ ne $own $operators }}
    selector:
      {{- include "kuberay-advisor.selectorLabels" (list . "watcher") | nindent 6 }}
{{- end }}
{{- if .Values.sidecar.enabled }}
  - component: sidecar
    port: advisor
    namespace: {{ $operators }}
    selector:
      {{- include "kuberay-advisor.operatorLabels" . | nindent 6 }}
{{- end }}
{{- end }}

{{/* Metadata of a monitoring object. Takes a dict: root, component, values. */}}
{{- define "kuberay-advisor.monitorMetadata" -}}
{{- $labels := deepCopy .values.labels }}
{{- with .values.releaseLabel }}
{{- $_ := set $labels "release" . }}
{{- end }}
{{- include "kuberay-advisor.metadata" (dict "root" .root "component" .component "labels" $labels "annotations" .values.annotations) }}
{{- end }}

{{/* The endpoint of a monitor. Takes a dict: root, values (of serviceMonitor or podMonitor), part (as above). */}}
{{- define "kuberay-advisor.endpoint" -}}
- port: {{ .part.port }}
  path: /metrics
  scheme: {{ .values.scheme }}
  {{- range $key := list "interval" "scrapeTimeout" "bearerTokenFile" }}
  {{- with index $.values $key }}
  {{ $key }}: {{ . }}
  {{- end }}
  {{- end }}
  {{- with .values.tlsConfig }}
  tlsConfig:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- if .values.authorization }}
  authorization:
    {{- toYaml .values.authorization | nindent 4 }}
  {{- else if and .part.login (not .values.bearerTokenFile) }}
  {{- /* Of the monitor's own namespace, where Prometheus Operator looks for it. */}}
  authorization:
    type: Bearer
    credentials:
      name: {{ .root.Values.serve.login.existingSecret }}
      key: {{ .root.Values.serve.login.key }}
  {{- end }}
  {{- if .values.honorLabels }}
  honorLabels: true
  {{- end }}
  {{- if or .part.foreign .values.relabelings }}
  relabelings:
    {{- if .part.foreign }}
    {{- /* Alerts name an operator by its namespace, which is not the one of the watcher here. */}}
    - targetLabel: namespace
      replacement: {{ include "kuberay-advisor.operatorNamespace" .root }}
      action: replace
    {{- end }}
    {{- with .values.relabelings }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- end }}
  {{- with .values.metricRelabelings }}
  metricRelabelings:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}

{{- define "kuberay-advisor.limits" -}}
{{- range $key := list "sampleLimit" "labelLimit" }}
{{- with index $ $key }}
{{ $key }}: {{ int64 . }}
{{- end }}
{{- end }}
{{- end }}

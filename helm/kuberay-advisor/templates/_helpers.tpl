{{/* Names. None is longer than 63 characters, the most that a Service and a label may have. */}}

{{- define "kuberay-advisor.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "kuberay-advisor.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" }}
{{- else }}
{{- $name := default .Chart.Name .Values.nameOverride }}
{{- if contains $name .Release.Name }}
{{- .Release.Name | trunc 63 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name $name | trunc 63 | trimSuffix "-" }}
{{- end }}
{{- end }}
{{- end }}

{{/* The full name with an ending that is never cut off. Takes a list: the root, the ending. */}}
{{- define "kuberay-advisor.suffixed" -}}
{{- $root := index . 0 }}
{{- $ending := index . 1 }}
{{- $room := int (sub 62 (len $ending)) }}
{{- printf "%s-%s" (include "kuberay-advisor.fullname" $root | trunc $room | trimSuffix "-") $ending }}
{{- end }}

{{/* The name of a part's objects: the service has the full name itself. Takes a list: the root, service, watcher or sidecar. */}}
{{- define "kuberay-advisor.componentName" -}}
{{- if eq (index . 1) "service" }}
{{- include "kuberay-advisor.fullname" (index . 0) }}
{{- else }}
{{- include "kuberay-advisor.suffixed" . }}
{{- end }}
{{- end }}

{{/* A name for what is outside of the release's namespace, where a release of the same name may be too. Takes a list: the root, an ending. */}}
{{- define "kuberay-advisor.foreignName" -}}
{{- $root := index . 0 }}
{{- $plain := include "kuberay-advisor.suffixed" . }}
{{- $whole := printf "%s-%s" (include "kuberay-advisor.namespace" $root) $plain }}
{{- if le (len $whole) 63 }}
{{- $whole }}
{{- else }}
{{- printf "%s-%s" ($whole | trunc 54 | trimSuffix "-") ($whole | sha256sum | trunc 8) }}
{{- end }}
{{- end }}

{{- define "kuberay-advisor.chart" -}}
{{- printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "kuberay-advisor.namespace" -}}
{{- default .Release.Namespace .Values.namespaceOverride }}
{{- end }}

{{/* Labels. Both take a list: the root, the component; "" for what belongs to no part. */}}

{{- define "kuberay-advisor.selectorLabels" -}}
{{- $root := index . 0 -}}
app.kubernetes.io/name: {{ include "kuberay-advisor.name" $root }}
app.kubernetes.io/instance: {{ $root.Release.Name | trunc 63 | trimSuffix "-" }}
{{- with index . 1 }}
app.kubernetes.io/component: {{ . }}
{{- end }}
{{- end }}

{{/* What selectors rely on wins over commonLabels, and these over the rest. */}}
{{- define "kuberay-advisor.labels" -}}
{{- $root := index . 0 }}
{{- $rest := dict "app.kubernetes.io/version" $root.Chart.AppVersion "app.kubernetes.io/part-of" "kuberay-advisor" }}
{{- $_ := set $rest "app.kubernetes.io/managed-by" $root.Release.Service }}
{{- $_ := set $rest "helm.sh/chart" (include "kuberay-advisor.chart" $root) }}
{{- toYaml (mustMerge (include "kuberay-advisor.selectorLabels" . | fromYaml) $root.Values.commonLabels $rest) }}
{{- end }}

{{/*
Labels and annotations of an object, below its metadata. Takes a dict: root, component, labels, annotations. The chart's own labels win: selectors
and monitors rely on them.
*/}}
{{- define "kuberay-advisor.metadata" -}}
{{- $own := include "kuberay-advisor.labels" (list .root .component) | fromYaml -}}
labels:
  {{- toYaml (mustMergeOverwrite (dict) (.labels | default dict) $own) | nindent 2 }}
{{- with mustMergeOverwrite (dict) .root.Values.commonAnnotations (.annotations | default dict) }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* Where the operator is. */}}

{{- define "kuberay-advisor.operatorNamespace" -}}
{{- default .Release.Namespace .Values.operator.namespace }}
{{- end }}

{{- define "kuberay-advisor.operatorMetrics" -}}
{{- default (printf "http://%s.%s.svc:8080/metrics" .Values.operator.name (include "kuberay-advisor.operatorNamespace" .)) .Values.operator.metricsUrl }}
{{- end }}

{{- define "kuberay-advisor.operatorLabels" -}}
{{- toYaml (default (dict "app.kubernetes.io/name" "kuberay-operator") .Values.operator.selectorLabels) }}
{{- end }}

{{- define "kuberay-advisor.operatorSelector" -}}
{{- $pairs := list }}
{{- range $label, $value := include "kuberay-advisor.operatorLabels" . | fromYaml }}
{{- $pairs = append $pairs (printf "%s=%s" $label $value) }}
{{- end }}
{{- join "," $pairs }}
{{- end }}

{{/* "true" where the watcher watches objects, cluster-wide or not. */}}
{{- define "kuberay-advisor.watches" -}}
{{- if and .Values.watcher.watch.enabled (or .Values.operator.watchNamespaces .Values.rbac.clusterWide) }}true{{ end }}
{{- end }}

{{/* Where the service reads what the watcher or the sidecar tells; "" where neither is. */}}
{{- define "kuberay-advisor.sidecarUrl" -}}
{{- if .Values.watcher.enabled }}
{{- printf "http://%s.%s.svc:%v" (include "kuberay-advisor.componentName" (list . "watcher")) (include "kuberay-advisor.namespace" .) .Values.watcher.service.port }}
{{- else if .Values.sidecar.enabled }}
{{- printf "http://%s.%s.svc:%v" (include "kuberay-advisor.componentName" (list . "sidecar")) (include "kuberay-advisor.operatorNamespace" .) .Values.sidecar.port }}
{{- end }}
{{- end }}

{{/* The image with its registry, and tag or digest. */}}
{{- define "kuberay-advisor.image" -}}
{{- $registry := default .Values.image.registry .Values.global.imageRegistry }}
{{- $repository := .Values.image.repository }}
{{- with $registry }}
{{- $repository = printf "%s/%s" (trimSuffix "/" .) $repository }}
{{- end }}
{{- if .Values.image.digest }}
{{- printf "%s@%s" $repository .Values.image.digest }}
{{- else }}
{{- printf "%s:%s" $repository (default .Chart.AppVersion .Values.image.tag) }}
{{- end }}
{{- end }}

{{/* Takes a list: the root, the component, the values of the part. */}}
{{- define "kuberay-advisor.serviceAccountName" -}}
{{- $account := (index . 2).serviceAccount }}
{{- if $account.create }}
{{- default (include "kuberay-advisor.componentName" .) $account.name }}
{{- else }}
{{- default "default" $account.name }}
{{- end }}
{{- end }}

{{/* "true" where user and group are left to the namespace. */}}
{{- define "kuberay-advisor.isOpenShift" -}}
{{- if or .Values.openshift (.Capabilities.APIVersions.Has "security.openshift.io/v1") }}true{{ end }}
{{- end }}

{{- define "kuberay-advisor.podSecurityContext" -}}
{{- if include "kuberay-advisor.isOpenShift" . }}
{{- toYaml (omit .Values.podSecurityContext "runAsUser" "runAsGroup" "fsGroup" "fsGroupChangePolicy") }}
{{- else }}
{{- toYaml .Values.podSecurityContext }}
{{- end }}
{{- end }}

{{/* Where files of Secrets and the history are in the service's container. */}}
{{- define "kuberay-advisor.secrets" -}}/var/run/secrets/kuberay-advisor{{- end }}
{{- define "kuberay-advisor.history" -}}/var/lib/kuberay-advisor{{- end }}

{{/*
Files that the service needs of Secrets and ConfigMaps that exist: a list of dicts of name (of the volume and the folder), kind, from, items
(key and file). As YAML below "files".
*/}}
{{- define "kuberay-advisor.files" -}}
{{- $serve := .Values.serve }}
files:
{{- with $serve.login }}
{{- if .existingSecret }}
  - {name: login, kind: secret, from: {{ quote .existingSecret }}, items: [{key: {{ quote .key }}, path: token}]}
{{- end }}
{{- end }}
{{- range $name := list "slack" "webhook" }}
{{- with index $serve.notify $name }}
{{- if .existingSecret }}
  - {name: {{ $name }}, kind: secret, from: {{ quote .existingSecret }}, items: [{key: {{ quote .key }}, path: url}]}
{{- end }}
{{- end }}
{{- end }}
{{- with $serve.prometheus }}
{{- if and .url .bearerToken.existingSecret }}
  - {name: prometheus-token, kind: secret, from: {{ quote .bearerToken.existingSecret }}, items: [{key: {{ quote .bearerToken.key }}, path: token}]}
{{- end }}
{{- if and .url .basicAuth.user }}
  - {name: prometheus-password, kind: secret, from: {{ quote .basicAuth.existingSecret }}, items: [{key: {{ quote .basicAuth.key }}, path: password}]}
{{- end }}
{{- if and .url .clientCertificate.existingSecret }}
  - {name: prometheus-client, kind: secret, from: {{ quote .clientCertificate.existingSecret }}, items: [{key: tls.crt, path: tls.crt}, {key: tls.key, path: tls.key}]}
{{- end }}
{{- if and .url .ca.existingConfigMap }}
  - {name: prometheus-ca, kind: configMap, from: {{ quote .ca.existingConfigMap }}, items: [{key: {{ quote .ca.key }}, path: ca.crt}]}
{{- end }}
{{- end }}
{{- end }}

{{/* The table of serve.prometheus, as JSON. */}}
{{- define "kuberay-advisor.prometheusTable" -}}
{{- $folder := include "kuberay-advisor.secrets" . }}
{{- with .Values.serve.prometheus }}
{{- $table := dict "url" .url }}
{{- range $key := list "tenant" "cluster" "namespace" "job" "matchers" "last" }}
{{- with index $.Values.serve.prometheus $key }}
{{- $_ := set $table $key . }}
{{- end }}
{{- end }}
{{- if .bearerToken.existingSecret }}
{{- $_ := set $table "bearer_token_file" (printf "%s/prometheus-token/token" $folder) }}
{{- end }}
{{- if .basicAuth.user }}
{{- $_ := set $table "user" .basicAuth.user }}
{{- $_ := set $table "password_file" (printf "%s/prometheus-password/password" $folder) }}
{{- end }}
{{- if .clientCertificate.existingSecret }}
{{- $_ := set $table "client_cert" (printf "%s/prometheus-client/tls.crt" $folder) }}
{{- $_ := set $table "client_key" (printf "%s/prometheus-client/tls.key" $folder) }}
{{- end }}
{{- if .ca.existingConfigMap }}
{{- $_ := set $table "ca_file" (printf "%s/prometheus-ca/ca.crt" $folder) }}
{{- end }}
{{- toJson (mustMergeOverwrite $table .extra) }}
{{- end }}
{{- end }}

{{/* Every table of the service's file but the operators, as JSON: what this chart decides, under what serve.config says. */}}
{{- define "kuberay-advisor.tables" -}}
{{- $folder := include "kuberay-advisor.secrets" . }}
{{- $serve := .Values.serve }}
{{- $login := dict }}
{{- if $serve.login.existingSecret }}
{{- $_ := set $login "token_file" (printf "%s/login/token" $folder) }}
{{- end }}
{{- if $serve.login.proxyHeader }}
{{- $_ := set $login "proxy_header" $serve.login.proxyHeader }}
{{- $_ := set $login "proxy_trusted" $serve.login.proxyTrusted }}
{{- end }}
{{- $notify := dict }}
{{- range $name := list "slack" "webhook" }}
{{- if (index $serve.notify $name).existingSecret }}
{{- $_ := set $notify (printf "%s_url_file" $name) (printf "%s/%s/url" $folder $name) }}
{{- $_ := set $notify "severities" $serve.notify.severities }}
{{- $_ := set $notify "cooldown" $serve.notify.cooldown }}
{{- end }}
{{- end }}
{{- $listen := dict "host" $serve.listenAddress "port" $serve.port }}
{{- $store := dict "path" (printf "%s/history.db" (include "kuberay-advisor.history" .)) }}
{{- $tables := dict "listen" $listen "store" $store "login" $login "notify" $notify }}
{{- toJson (mustMergeOverwrite (deepCopy (omit $serve.config "operators")) $tables) }}
{{- end }}

{{/* The operators that the service watches, as JSON below "operators". */}}
{{- define "kuberay-advisor.operators" -}}
{{- $serve := .Values.serve }}
{{- $operators := list }}
{{- $url := include "kuberay-advisor.sidecarUrl" . }}
{{- if and $url $serve.readFromSidecar }}
{{- $name := default (printf "%s/%s" (include "kuberay-advisor.operatorNamespace" .) .Values.operator.name) .Values.operator.title }}
{{- $one := dict "name" $name "sidecar" (dict "url" $url "interval" $serve.sidecarInterval) }}
{{- with .Values.operator.version }}
{{- $_ := set $one "version" . }}
{{- end }}
{{- with .Values.operator.args }}
{{- $_ := set $one "args" . }}
{{- end }}
{{- $operators = append $operators $one }}
{{- end }}
{{- with $serve.prometheus }}
{{- if .url }}
{{- $kind := ternary "fleet" "prometheus" (eq .mode "fleet") }}
{{- $operators = append $operators (dict "name" .name $kind (include "kuberay-advisor.prometheusTable" $ | fromJson)) }}
{{- end }}
{{- end }}
{{- toJson (dict "operators" (concat $operators ($serve.config.operators | default list))) }}
{{- end }}

{{/* The service's file. */}}
{{- define "kuberay-advisor.toml" -}}
{{- range $name, $table := include "kuberay-advisor.tables" . | fromJson }}
{{- if eq $name "defaults" }}
{{- range $kind, $values := $table }}
[defaults.{{ $kind }}]
{{- include "kuberay-advisor.tomlLines" $values }}
{{ end }}
{{- else if $table }}
[{{ $name }}]
{{- include "kuberay-advisor.tomlLines" $table }}
{{ end }}
{{- end }}
{{- range (include "kuberay-advisor.operators" . | fromJson).operators }}
[[operators]]
{{- include "kuberay-advisor.tomlLines" . }}
{{ end }}
{{- end }}

{{/* Names by which the service may be asked: its Service's, those of Ingress and HTTPRoute, the user's, and the Pod's own addresses. */}}
{{- define "kuberay-advisor.allowedHosts" -}}
{{- $serve := .Values.serve }}
{{- $name := include "kuberay-advisor.fullname" . }}
{{- $namespace := include "kuberay-advisor.namespace" . }}
{{- $hosts := list $name (printf "%s.%s" $name $namespace) (printf "%s.%s.svc" $name $namespace) (printf "%s.%s.svc.cluster.local" $name $namespace) }}
{{- if $serve.ingress.enabled }}
{{- $hosts = concat $hosts $serve.ingress.hosts }}
{{- end }}
{{- if $serve.httpRoute.enabled }}
{{- $hosts = concat $hosts $serve.httpRoute.hostnames }}
{{- end }}
{{- join "," (concat $hosts $serve.allowedHosts | uniq) }}
{{- end }}

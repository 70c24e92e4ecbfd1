{{/*
TOML of maps. Helm's own toToml writes every number of values as a float, and the service asks for whole numbers. Strings of JSON are strings
of TOML.
*/}}

{{- define "kuberay-advisor.tomlKey" -}}
{{- if regexMatch "^[A-Za-z0-9_-]+$" . }}{{ . }}{{ else }}{{ toJson . }}{{ end }}
{{- end }}

{{- define "kuberay-advisor.tomlValue" -}}
{{- if kindIs "map" . }}
{{- $pairs := list }}
{{- range $key, $value := . }}
{{- if not (kindIs "invalid" $value) }}
{{- $pairs = append $pairs (printf "%s = %s" (include "kuberay-advisor.tomlKey" $key) (include "kuberay-advisor.tomlValue" $value)) }}
{{- end }}
{{- end }}
{{- if $pairs }}{ {{ join ", " $pairs }} }{{ else }}{}{{ end }}
{{- else if kindIs "slice" . }}
{{- $items := list }}
{{- range . }}
{{- $items = append $items (include "kuberay-advisor.tomlValue" .) }}
{{- end -}}
[{{ join ", " $items }}]
{{- else }}
{{- toJson . }}
{{- end }}
{{- end }}

{{/* Lines of a table, without its head. */}}
{{- define "kuberay-advisor.tomlLines" -}}
{{- range $key, $value := . }}
{{- if not (kindIs "invalid" $value) }}
{{ include "kuberay-advisor.tomlKey" $key }} = {{ include "kuberay-advisor.tomlValue" $value }}
{{- end }}
{{- end }}
{{- end }}

{{/* The spec of a Service. Takes a dict: root, component, service (its values), port (name of the container's port), selector. */}}
{{- define "kuberay-advisor.service" -}}
type: {{ .service.type }}
{{- with .service.ipFamilyPolicy }}
ipFamilyPolicy: {{ . }}
{{- end }}
{{- with .service.loadBalancerSourceRanges }}
loadBalancerSourceRanges:
  {{- toYaml . | nindent 2 }}
{{- end }}
selector:
  {{- include "kuberay-advisor.selectorLabels" (list .root .component) | nindent 2 }}
{{- /*
Ready is who has something to tell, so that an upgrade waits for it. Until then, and where nothing can be read, its pages say what is missing: they
are for that time too, so the Service leads there from the start.
*/}}
publishNotReadyAddresses: true
ports:
  - name: {{ .port }}
    port: {{ .service.port }}
    targetPort: {{ .port }}
    protocol: TCP
    appProtocol: http
    {{- with .service.nodePort }}
    nodePort: {{ . }}
    {{- end }}
{{- end }}

{{- /* What shadow and console have in common. */ -}}

{{- define "cadastre.podIP" -}}
# The pod's own address, of either family.
- name: POD_IP
  valueFrom:
    fieldRef: { fieldPath: status.podIP }
{{- end -}}

{{- /* Where a pod may run: (list . .Values.shadow). */ -}}
{{- define "cadastre.placement" -}}
{{- include "cadastre.pullSecrets" (index . 0) -}}
{{- with index . 1 -}}
{{- with .priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}
{{- end -}}

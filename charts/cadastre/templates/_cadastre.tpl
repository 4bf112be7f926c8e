{{- /* What several templates say: the image, labels, and flags that programs share. */ -}}

{{- define "cadastre.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "cadastre.pullSecrets" -}}
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- /* Of an object of COMPONENT: (list . "operator"). */ -}}
{{- define "cadastre.labels" -}}
app: cadastre-{{ index . 1 }}
app.kubernetes.io/name: cadastre
app.kubernetes.io/component: {{ index . 1 }}
{{- end -}}

{{- /* Which parts a profile has; empty is no. */ -}}
{{- define "cadastre.hasOperator" -}}
{{- if ne .Values.profile "doctor" }}yes{{ end -}}
{{- end -}}
{{- define "cadastre.hasAgent" -}}
{{- if or (eq .Values.profile "standalone") (include "cadastre.announcesOnly" .) }}yes{{ end -}}
{{- end -}}
{{- /* Agents beside Cilium's data path: BGP alone. */ -}}
{{- define "cadastre.announcesOnly" -}}
{{- if and (eq .Values.profile "beside-cilium") .Values.agent.announceOnly }}yes{{ end -}}
{{- end -}}
{{- define "cadastre.hasShadow" -}}
{{- if and (eq .Values.profile "doctor") .Values.shadow.enabled }}yes{{ end -}}
{{- end -}}
{{- define "cadastre.hasConsole" -}}
{{- if kindIs "invalid" .Values.console.enabled -}}
{{- if eq .Values.profile "doctor" }}yes{{ end -}}
{{- else if .Values.console.enabled }}yes{{ end -}}
{{- end -}}

{{- /* NAMESPACE/NAME of the ConfigMap with peers and address-pools; empty if there is none. */ -}}
{{- define "cadastre.bgpConfigMap" -}}
{{- with .Values.bgp.configMap -}}
{{- if contains "/" . }}{{ . }}{{ else }}{{ $.Release.Namespace }}/{{ . }}{{ end -}}
{{- end -}}
{{- end -}}

{{- /* Where blocks are copied to, as the operator decides it (src/model/modes.ts). */ -}}
{{- define "cadastre.projections" -}}
{{- if .Values.operator.project -}}
{{ join "," .Values.operator.project }}
{{- else if and .Values.ipam.ciliumConfig (eq .Values.ipam.mode "ip-pool") -}}
{{- /* The mode is in the ConfigMap, and one of these follows from it. */ -}}
ciliumnode,ciliumnode-pools
{{- else if eq .Values.ipam.mode "ip-pool" -}}
annotations
{{- else if hasPrefix "cluster-pool" .Values.ipam.mode -}}
ciliumnode
{{- else if eq .Values.ipam.mode "multi-pool" -}}
ciliumnode-pools
{{- else -}}
none
{{- end -}}
{{- end -}}

{{- /* One flag, if it has a value: (list "--name" value). */ -}}
{{- define "cadastre.flag" -}}
{{- $value := index . 1 -}}
{{- if kindIs "slice" $value -}}
{{- if $value }}
- {{ printf "%s=%s" (index . 0) (join "," $value) | quote }}
{{- end -}}
{{- else if kindIs "float64" $value }}
- {{ printf "%s=%d" (index . 0) (int64 $value) }}
{{- else if kindIs "int64" $value }}
- {{ printf "%s=%d" (index . 0) $value }}
{{- else if kindIs "bool" $value }}
- {{ printf "%s=%t" (index . 0) $value }}
{{- else if $value }}
- {{ printf "%s=%s" (index . 0) $value | quote }}
{{- end -}}
{{- end -}}

{{- /* The same flag once for each item: (list "--name" list). */ -}}
{{- define "cadastre.flags" -}}
{{- $name := index . 0 -}}
{{- range index . 1 }}
- {{ printf "%s=%s" $name . | quote }}
{{- end -}}
{{- end -}}

{{- /* How blocks are allocated: of the operator and the shadow. */ -}}
{{- define "cadastre.ipamArgs" -}}
{{- with .Values.ipam -}}
{{- if ne .mode "ip-pool" }}
- --ipam={{ .mode }}
{{- end -}}
{{- include "cadastre.flag" (list "--cilium-config" .ciliumConfig) -}}
{{- include "cadastre.flag" (list "--enable-ipv4" .enableIPv4) -}}
{{- include "cadastre.flag" (list "--enable-ipv6" .enableIPv6) -}}
{{- include "cadastre.flag" (list "--cluster-pool-ipv4-cidr" .clusterPool.ipv4CIDRs) -}}
{{- include "cadastre.flag" (list "--cluster-pool-ipv4-mask-size" .clusterPool.ipv4MaskSize) -}}
{{- include "cadastre.flag" (list "--cluster-pool-ipv6-cidr" .clusterPool.ipv6CIDRs) -}}
{{- include "cadastre.flag" (list "--cluster-pool-ipv6-mask-size" .clusterPool.ipv6MaskSize) -}}
{{- include "cadastre.flag" (list "--cooldown-seconds" .clusterPool.cooldownSeconds) -}}
{{- include "cadastre.flag" (list "--release-by-time-seconds" .clusterPool.releaseByTimeSeconds) -}}
{{- include "cadastre.flag" (list "--max-blocks-per-node" .clusterPool.maxBlocksPerNode) -}}
{{- include "cadastre.flag" (list "--service-cidr" .serviceCIDRs) -}}
{{- include "cadastre.flag" (list "--adopt-from" .adoptFrom) -}}
{{- end -}}
{{- end -}}

{{- /* The right to read the ConfigMap of --cilium-config, for "operator" or "shadow": (list . name). */ -}}
{{- define "cadastre.ciliumConfigRight" -}}
{{- $root := index . 0 -}}
{{- $name := printf "cadastre-%s-ipam-config" (index . 1) -}}
{{- with $root.Values.ipam.ciliumConfig }}
---
# For --cilium-config={{ . }}.
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: {{ $name }}
  namespace: {{ splitList "/" . | first }}
  labels:
    {{- include "cadastre.labels" $ | nindent 4 }}
rules:
  - apiGroups: [""]
    resources: [configmaps]
    resourceNames: [{{ splitList "/" . | last }}]
    verbs: [get]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: {{ $name }}
  namespace: {{ splitList "/" . | first }}
  labels:
    {{- include "cadastre.labels" $ | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: {{ $name }}
subjects:
  - kind: ServiceAccount
    name: cadastre-{{ index $ 1 }}
    namespace: {{ $root.Release.Namespace }}
{{- end -}}
{{- end -}}

{{- /* Where health and metrics are served, on the host network: .metrics of operator or agent. */ -}}
{{- define "cadastre.listen" -}}
{{- if eq .address "loopback" -}}
- --listen=127.0.0.1:{{ int .port }}
{{- else -}}
# The node's own address, of either family: what Prometheus scrapes, and kubelet asks.
- --listen=[$(HOST_IP)]:{{ int .port }}
{{- end -}}
{{- end -}}

{{- define "cadastre.hostIP" -}}
- name: HOST_IP
  valueFrom:
    fieldRef: { fieldPath: status.hostIP }
{{- end -}}

{{- /* A probe of PATH: (list .metrics "/livez"). */ -}}
{{- define "cadastre.probe" -}}
{{- with index . 0 -}}
{{- if eq .address "loopback" -}}
httpGet: { host: 127.0.0.1, path: {{ index $ 1 }}, port: metrics }
{{- else -}}
httpGet: { path: {{ index $ 1 }}, port: metrics }
{{- end -}}
{{- end -}}
{{- end -}}

{{- /* For a container that needs nothing of the machine. */ -}}
{{- define "cadastre.confined" -}}
allowPrivilegeEscalation: false
# It writes no file.
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end -}}

{{- define "cadastre.confinedPod" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
seccompProfile: { type: RuntimeDefault }
{{- end -}}

{{- /* The port of a --witness, like bgp=[::]:1790,as=64524,peer-as=64524. */ -}}
{{- define "cadastre.witnessPort" -}}
{{ splitList "," . | first | regexFind "[0-9]+$" }}
{{- end -}}

{{- /* The listeners of a list of --witness as ports of a container. */ -}}
{{- define "cadastre.witnessPorts" -}}
{{- range $at, $where := . }}
- { name: witness-{{ $at }}, containerPort: {{ include "cadastre.witnessPort" $where }} }
{{- end -}}
{{- end -}}

{{- /* Alerts and the dashboard name a node by this label. */ -}}
{{- define "cadastre.nodeLabel" -}}
- { sourceLabels: [__meta_kubernetes_pod_node_name], targetLabel: node }
{{- end -}}

{{- /* Annotations of a pod: (list . .Values.agent.podAnnotations port). */ -}}
{{- define "cadastre.podAnnotations" -}}
{{- $given := index . 1 -}}
{{- $scrapes := (index . 0).Values.monitoring.scrapeAnnotations -}}
{{- if or $given $scrapes }}
annotations:
  {{- with $given }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
  {{- if $scrapes }}
  prometheus.io/scrape: "true"
  prometheus.io/path: /metrics
  prometheus.io/port: {{ index . 2 | int | quote }}
  {{- end }}
{{- end -}}
{{- end -}}

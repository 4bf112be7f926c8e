/** CoreDNS and the Service `kube-dns`, as kubeadm makes them. */
import { clusterDns } from '../../../src/lab/kubelets/layout.ts';
import { corednsImage } from './images.ts';

/** Without `forward` and `loop`: there is no name server outside. */
const corefile = `.:53 {
    errors
    health {
       lameduck 5s
    }
    ready
    kubernetes cluster.local in-addr.arpa ip6.arpa {
       pods insecure
       fallthrough in-addr.arpa ip6.arpa
       ttl 30
    }
    prometheus :9153
    cache 30 {
       disable success cluster.local
       disable denial cluster.local
    }
    reload
    loadbalance
}
`;

const metadata = { name: 'coredns', namespace: 'kube-system' };
const labels = { 'k8s-app': 'kube-dns' };
const role = 'rbac.authorization.k8s.io';

export const dnsObjects: readonly object[] = [
  { apiVersion: 'v1', kind: 'ServiceAccount', metadata },
  {
    apiVersion: `${role}/v1`,
    kind: 'ClusterRole',
    metadata: { name: 'system:coredns' },
    rules: [
      {
        apiGroups: [''],
        resources: ['endpoints', 'services', 'pods', 'namespaces'],
        verbs: ['list', 'watch'],
      },
      {
        apiGroups: ['discovery.k8s.io'],
        resources: ['endpointslices'],
        verbs: ['list', 'watch'],
      },
    ],
  },
  {
    apiVersion: `${role}/v1`,
    kind: 'ClusterRoleBinding',
    metadata: { name: 'system:coredns' },
    roleRef: { apiGroup: role, kind: 'ClusterRole', name: 'system:coredns' },
    subjects: [{ kind: 'ServiceAccount', ...metadata }],
  },
  { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { Corefile: corefile } },
  {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { ...metadata, labels },
    spec: {
      replicas: 2,
      strategy: { rollingUpdate: { maxUnavailable: 1 } },
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          serviceAccountName: 'coredns',
          priorityClassName: 'system-cluster-critical',
          dnsPolicy: 'Default',
          tolerations: [{ key: 'CriticalAddonsOnly', operator: 'Exists' }],
          containers: [
            {
              name: 'coredns',
              image: corednsImage,
              imagePullPolicy: 'IfNotPresent',
              args: ['-conf', '/etc/coredns/Corefile'],
              ports: [
                { name: 'dns', containerPort: 53, protocol: 'UDP' },
                { name: 'dns-tcp', containerPort: 53, protocol: 'TCP' },
                { name: 'metrics', containerPort: 9153, protocol: 'TCP' },
              ],
              readinessProbe: { httpGet: { path: '/ready', port: 8181 } },
              livenessProbe: {
                httpGet: { path: '/health', port: 8080 },
                initialDelaySeconds: 60,
                failureThreshold: 5,
              },
              securityContext: {
                allowPrivilegeEscalation: false,
                capabilities: { add: ['NET_BIND_SERVICE'], drop: ['ALL'] },
                readOnlyRootFilesystem: true,
              },
              volumeMounts: [{ name: 'config', mountPath: '/etc/coredns', readOnly: true }],
            },
          ],
          volumes: [{ name: 'config', configMap: { name: 'coredns' } }],
        },
      },
    },
  },
  {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'kube-dns', namespace: 'kube-system', labels },
    spec: {
      clusterIP: clusterDns,
      selector: labels,
      ports: [
        { name: 'dns', port: 53, protocol: 'UDP', targetPort: 'dns' },
        { name: 'dns-tcp', port: 53, protocol: 'TCP', targetPort: 'dns-tcp' },
        { name: 'metrics', port: 9153, protocol: 'TCP', targetPort: 'metrics' },
      ],
    },
  },
];

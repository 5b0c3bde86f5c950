"""Names for pods: CoreDNS as a program in the first node's network, behind the usual Service.

A program, not a pod: it needs no image on every node and survives a drain.
"""

from pathlib import Path

from local_cluster import kubectl
from local_cluster.control_plane import ControlPlane
from local_cluster.embedded.kubelet import DNS_ADDRESS, DOMAIN

HOST_NAME = "host.levelset.internal"
USER = "system:coredns"
_MANIFEST = f"""\
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {{name: {USER}}}
rules:
- {{apiGroups: [""], resources: [services, namespaces, pods], verbs: [list, watch]}}
- {{apiGroups: [discovery.k8s.io], resources: [endpointslices], verbs: [list, watch]}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {{name: {USER}}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: {USER}}}
subjects:
- {{apiGroup: rbac.authorization.k8s.io, kind: User, name: {USER}}}
---
apiVersion: v1
kind: Service
metadata: {{name: kube-dns, namespace: kube-system, labels: {{k8s-app: kube-dns}}}}
spec:
  clusterIP: {DNS_ADDRESS}
  ports:
  - {{name: dns, port: 53, protocol: UDP}}
  - {{name: dns-tcp, port: 53, protocol: TCP}}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata:
  name: kube-dns
  namespace: kube-system
  labels: {{kubernetes.io/service-name: kube-dns}}
addressType: IPv4
endpoints:
- {{addresses: [ADDRESS], conditions: {{ready: true}}}}
ports:
- {{name: dns, port: 53, protocol: UDP}}
- {{name: dns-tcp, port: 53, protocol: TCP}}
"""


def start(plane: ControlPlane, *, address: str, host_address: str) -> None:
    """Start CoreDNS on a node's address and put the Service before it."""
    document = _MANIFEST.replace("ADDRESS", address)
    kubectl.Kubectl(plane.kubeconfig)("apply", "--server-side", "-f", "-", stdin=document)
    configuration = _write_configuration(plane, address, host_address)
    plane.run("coredns", f"-conf={configuration}")


def _write_configuration(plane: ControlPlane, address: str, host_address: str) -> Path:
    file = plane.directory / "Corefile"
    file.write_text(f"""\
.:53 {{
  bind {address}
  errors
  hosts {{
    {host_address} {HOST_NAME}
    fallthrough
  }}
  kubernetes {DOMAIN} in-addr.arpa {{
    kubeconfig {plane.user(USER)}
    pods insecure
    ttl 5
  }}
}}
""")
    return file

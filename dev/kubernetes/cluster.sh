#!/usr/bin/env bash
# A real Kubernetes cluster of one node on this machine (Debian or Ubuntu, as root): see README.md.
#
#   cluster.sh build        installs Debian's packages and builds the binaries from the Go modules of go.mod
#   cluster.sh up           starts what is not running; the last line is the path of the kubeconfig
#   cluster.sh load TAR     imports an image (a docker archive)
#   cluster.sh down         stops everything and removes its state
#
# The node is in a network namespace of its own (10.250.77.2; this machine is 10.250.77.1), with a containerd.
# This machine reaches pods and Services by route.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
bin=${XDG_CACHE_HOME:-$HOME/.cache}/countersign/kubernetes
home=/var/tmp/countersign-kubernetes
host=10.250.77.1 node=10.250.77.2 netns=countersign-node link=cs-node
pods=10.244.0.0/24 services=10.96.0.0/16 api=10.96.0.1 dns=10.96.0.10
kubernetes=v1.34.4
pki=$home/pki
export KUBECONFIG=$home/admin.kubeconfig
export PATH=$bin:$PATH
ctr=(ctr --address "$home/containerd.sock" --namespace k8s.io)

build() {
  local packages="containerd runc containernetworking-plugins iptables nftables iproute2 conntrack openssl gcc libc6-dev" missing=""
  for package in $packages; do dpkg -s "$package" >/dev/null 2>&1 || missing+=" $package"; done
  if [ -n "$missing" ]; then
    apt-get update -qq
    # Only the programs are used; the packages must not start containers' daemons of their own.
    DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get install -qq -y --no-install-recommends $missing >/dev/null
  fi
  local version; version=$(cat "$here/go.sum" "$here"/cmd/*/*.go "$here/pause.c" | sha256sum | cut -c1-16)
  [ "$(cat "$bin/version" 2>/dev/null)" = "$version" ] && return
  mkdir -p "$bin"
  echo "building Kubernetes $kubernetes with Go, once (5 to 15 minutes; then it is cached in $bin) …"
  local flags="-s -w"
  for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
    flags+=" -X $package.gitVersion=$kubernetes -X $package.gitMajor=1 -X $package.gitMinor=34"
  done
  flags+=" -X helm.sh/helm/v3/pkg/chartutil.k8sVersionMajor=1 -X helm.sh/helm/v3/pkg/chartutil.k8sVersionMinor=34"
  (cd "$here" && CGO_ENABLED=0 GOFLAGS="-buildvcs=false -mod=readonly" GOGC=400 \
    go build -ldflags "$flags" -o "$bin/" ./cmd/... helm.sh/helm/v3/cmd/helm)
  gcc -Os -static -s -o "$bin/pause" "$here/pause.c"
  for name in kube-apiserver kube-controller-manager kube-scheduler kubelet kube-proxy kubectl; do
    ln -sf hyperkube "$bin/$name"
  done
  echo "$version" > "$bin/version"
}

# A certificate authority, and for each component a kubeconfig with a token.
credentials() {
  [ -f "$pki/ready" ] && return
  mkdir -p "$pki"; chmod 700 "$home" "$pki"
  local key=(-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 30)
  openssl req -x509 "${key[@]}" -subj /CN=node -keyout "$pki/ca.key" -out "$pki/ca.crt" 2>/dev/null
  certificate() { # name subject extensions
    openssl req "${key[@]}" -subj "$2" -keyout "$pki/$1.key" -out "$pki/$1.csr" 2>/dev/null
    openssl x509 -req -in "$pki/$1.csr" -CA "$pki/ca.crt" -CAkey "$pki/ca.key" -CAcreateserial -days 30 \
      -extfile <(printf '%s\n' "${@:3}") -out "$pki/$1.crt" 2>/dev/null
  }
  certificate apiserver /CN=kube-apiserver extendedKeyUsage=serverAuth \
    "subjectAltName=DNS:kubernetes.default.svc,DNS:kubernetes.default,IP:$api,IP:$node,IP:127.0.0.1"
  certificate kubelet-client /O=system:masters/CN=kube-apiserver extendedKeyUsage=clientAuth
  openssl ecparam -name prime256v1 -genkey -noout -out "$pki/service-account.key"
  : > "$pki/tokens.csv"
  while read -r file user group; do
    local token; token=$(openssl rand -hex 16)
    echo "$token,$user,$user,\"$group\"" >> "$pki/tokens.csv"
    cat > "$home/$file.kubeconfig" <<Y
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://$node:6443", certificate-authority: "$pki/ca.crt"}}]
users: [{name: u, user: {token: $token}}]
contexts: [{name: c, context: {cluster: c, user: u}}]
current-context: c
Y
  done <<Y
admin admin system:masters
netpol netpol system:masters
controller-manager system:kube-controller-manager
scheduler system:kube-scheduler
proxy system:kube-proxy
kubelet system:node:node system:nodes
Y
  touch "$pki/ready"
}

configuration() {
  # kube-proxy ends when its file is written again.
  [ -f "$home/proxy.yaml" ] && return
  mkdir -p "$home"/{cni,log,run}
  cat > "$home/containerd.toml" <<Y
version = 2
root = "$home/containerd"
state = "$home/run/containerd"
disabled_plugins = ["io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.zfs", "io.containerd.snapshotter.v1.devmapper"]
[grpc]
  address = "$home/containerd.sock"
[ttrpc]
  address = "$home/containerd.sock.ttrpc"
[plugins."io.containerd.internal.v1.opt"]
  path = "$home/containerd-opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "localhost/pause:1"
  # For machines that are containers themselves and may not lower a process's score.
  restrict_oom_score_adj = true
  tolerate_missing_hugetlb_controller = true
  disable_hugetlb_controller = true
  netns_mounts_under_state_dir = true
  stream_server_address = "127.0.0.1"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "$home/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
Y
  # Routed pods: traffic between bridged ones would pass no firewall.
  cat > "$home/cni/pods.conflist" <<Y
{"cniVersion": "0.4.0", "name": "pods", "plugins": [{"type": "ptp", "ipMasq": false, "ipam": {
  "type": "host-local", "dataDir": "$home/run/cni", "ranges": [[{"subnet": "$pods"}]], "routes": [{"dst": "0.0.0.0/0"}]}}]}
Y
  : > "$home/resolv.conf"
  cat > "$home/kubelet.yaml" <<Y
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: $pki/ca.crt}}
authorization: {mode: Webhook}
cgroupDriver: cgroupfs
failCgroupV1: false
failSwapOn: false
oomScoreAdj: 0
clusterDNS: [$dns]
clusterDomain: cluster.local
containerRuntimeEndpoint: unix://$home/containerd.sock
resolvConf: $home/resolv.conf
podLogsDir: $home/log/pods
volumePluginDir: $home/volume-plugins
imageGCHighThresholdPercent: 100
imageGCLowThresholdPercent: 99
evictionHard: {memory.available: 100Mi, nodefs.available: 1%, imagefs.available: 1%}
Y
  cat > "$home/proxy.yaml" <<Y
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: nftables
clientConnection: {kubeconfig: $home/proxy.kubeconfig}
clusterCIDR: $pods
hostnameOverride: node
oomScoreAdj: 0
conntrack: {maxPerCore: 0, min: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}
Y
}

network() {
  ip netns list | grep -qw "^$netns" && return
  # A machine that is in this network itself would lose its way out.
  case $(ip route get "$node" 2>/dev/null) in
    "" | *" via "*) ;;
    *) echo "$node is in a network of this machine: change the addresses in $0" >&2; exit 1 ;;
  esac
  ip netns add "$netns"
  ip link add "$link" type veth peer name eth0 netns "$netns"
  ip addr add "$host/30" dev "$link"
  ip link set "$link" up
  inside ip link set lo up
  inside ip addr add "$node/30" dev eth0
  inside ip link set eth0 up
  inside sysctl -qw net.ipv4.ip_forward=1
  # A Service's address needs a route before it is turned into a pod's.
  inside ip route add "$services" dev eth0 src "$node"
  ip route replace "$services" via "$node" dev "$link"
  ip route replace "$pods" via "$node" dev "$link"
}

# Not `ip netns exec`, which mounts another /sys and hides the cgroups.
inside() { nsenter --net="/run/netns/$netns" "$@"; }

is_running() { [ -f "$home/run/$1.pid" ] && kill -0 "$(cat "$home/run/$1.pid")" 2>/dev/null; }

start() { # name command…
  is_running "$1" && return
  setsid nohup nsenter --net="/run/netns/$netns" "${@:2}" >> "$home/log/$1.log" 2>&1 < /dev/null &
  echo $! > "$home/run/$1.pid"
}

wait_for() { # seconds command…
  local end=$((SECONDS + $1)) pid
  until "${@:2}" >/dev/null 2>&1; do
    for pid in "$home"/run/*.pid; do kill -0 "$(cat "$pid")" 2>/dev/null || end=0; done
    [ $SECONDS -lt $end ] || { echo "failed: ${*:2}; the logs are in $home/log" >&2; exit 1; }
    sleep 0.3
  done
}

# An image of one static binary, as a docker archive.
image() { # name
  local dir digest; dir=$(mktemp -d)
  mkdir -p "$dir/root/tmp" "$dir/root/etc"
  cp "$bin/$1" "$dir/root/$1"
  tar -cf "$dir/layer.tar" -C "$dir/root" .
  digest=$(sha256sum "$dir/layer.tar" | cut -d' ' -f1)
  cat > "$dir/config.json" <<J
{"architecture": "$(uname -m | sed 's/x86_64/amd64/; s/aarch64/arm64/')", "os": "linux",
 "rootfs": {"type": "layers", "diff_ids": ["sha256:$digest"]}, "config": {"Entrypoint": ["/$1"], "User": "65532:65532"}}
J
  echo "[{\"Config\": \"config.json\", \"RepoTags\": [\"localhost/$1:1\"], \"Layers\": [\"layer.tar\"]}]" > "$dir/manifest.json"
  tar -cf - -C "$dir" config.json manifest.json layer.tar | "${ctr[@]}" images import - >/dev/null
  rm -rf "$dir"
}

up() {
  build
  mkdir -p "$home/run"
  # The kubelet changes these of the whole machine; down sets them back.
  [ -f "$home/run/sysctl" ] || sysctl vm.overcommit_memory vm.panic_on_oom kernel.panic kernel.panic_on_oops \
    kernel.keys.root_maxkeys kernel.keys.root_maxbytes | tr -d ' ' > "$home/run/sysctl"
  network
  credentials
  configuration
  start containerd containerd --config "$home/containerd.toml"
  start etcd "$bin/etcd" --data-dir "$home/etcd" --unsafe-no-fsync --log-level warn
  start kube-apiserver "$bin/kube-apiserver" --advertise-address="$node" --etcd-servers=http://127.0.0.1:2379 \
    --service-cluster-ip-range="$services" --authorization-mode=Node,RBAC --enable-admission-plugins=NodeRestriction \
    --allow-privileged=true --client-ca-file="$pki/ca.crt" --token-auth-file="$pki/tokens.csv" \
    --tls-cert-file="$pki/apiserver.crt" --tls-private-key-file="$pki/apiserver.key" \
    --kubelet-client-certificate="$pki/kubelet-client.crt" --kubelet-client-key="$pki/kubelet-client.key" \
    --kubelet-preferred-address-types=InternalIP --service-account-issuer=https://kubernetes.default.svc \
    --service-account-key-file="$pki/service-account.key" --service-account-signing-key-file="$pki/service-account.key"
  wait_for 60 "${ctr[@]}" version
  for name in pause coredns; do
    "${ctr[@]}" images ls -q | grep -qx "localhost/$name:1" || image "$name"
  done
  wait_for 180 kubectl get --raw /readyz
  wait_for 60 kubectl apply -f "$here/coredns.yaml"
  start kube-controller-manager "$bin/kube-controller-manager" --kubeconfig="$home/controller-manager.kubeconfig" \
    --leader-elect=false --use-service-account-credentials=true --root-ca-file="$pki/ca.crt" \
    --service-account-private-key-file="$pki/service-account.key" --flex-volume-plugin-dir="$home/volume-plugins" \
    --allocate-node-cidrs=true --cluster-cidr=10.244.0.0/16 --service-cluster-ip-range="$services"
  start kube-scheduler "$bin/kube-scheduler" --kubeconfig="$home/scheduler.kubeconfig" --leader-elect=false
  start kubelet "$bin/kubelet" --config="$home/kubelet.yaml" --kubeconfig="$home/kubelet.kubeconfig" \
    --root-dir="$home/kubelet" --cert-dir="$home/kubelet-pki" --hostname-override=node --node-ip="$node"
  start kube-proxy "$bin/kube-proxy" --config="$home/proxy.yaml"
  start netpol "$bin/netpol" --kubeconfig "$home/netpol.kubeconfig"
  wait_for 180 kubectl wait --for=condition=Ready node/node --timeout=2s
  wait_for 180 kubectl -n kube-system rollout status deployment/coredns --timeout=2s
  echo "$KUBECONFIG"
}

down() {
  local name pid
  for name in netpol kube-proxy kubelet kube-scheduler kube-controller-manager kube-apiserver etcd; do
    is_running "$name" && kill "$(cat "$home/run/$name.pid")" || true
  done
  for name in kubelet kube-apiserver etcd; do
    for _ in $(seq 100); do is_running "$name" || break; sleep 0.1; done
    if is_running "$name"; then kill -9 "$(cat "$home/run/$name.pid")"; fi
  done
  if is_running containerd; then
    for _ in 1 2 3; do
      for task in $("${ctr[@]}" tasks ls -q); do "${ctr[@]}" tasks rm --force "$task" >/dev/null 2>&1 || true; done
    done
    for container in $("${ctr[@]}" containers ls -q); do "${ctr[@]}" containers rm "$container" >/dev/null 2>&1 || true; done
    pid=$(cat "$home/run/containerd.pid")
    kill "$pid"
    for _ in $(seq 100); do kill -0 "$pid" 2>/dev/null || break; sleep 0.1; done
  fi
  awk -v d="$home/" 'index($2, d) == 1 {print $2}' /proc/mounts | sort -r | while read -r mount; do umount -l "$mount"; done
  ip link del "$link" 2>/dev/null || true
  ip netns del "$netns" 2>/dev/null || true
  for cgroup in /sys/fs/cgroup/kubepods /sys/fs/cgroup/*/kubepods; do
    if [ -d "$cgroup" ]; then find "$cgroup" -depth -type d -exec rmdir {} \; 2>/dev/null || true; fi
  done
  if [ -f "$home/run/sysctl" ]; then sysctl -qp "$home/run/sysctl" || true; fi
  rm -rf "$home"
}

case "${1:-}" in
  build) build ;;
  up) up ;;
  load) "${ctr[@]}" images import "$2" >/dev/null ;;
  down) down ;;
  *) sed -n '2,9s/^# \?//p' "$0"; exit 2 ;;
esac

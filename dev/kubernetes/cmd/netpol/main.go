// Command netpol enforces the NetworkPolicies of the one-node cluster with nftables.
//
// Each change of a pod, a namespace or a policy replaces one table, "ip netpol", in one transaction. Pods are
// routed (CNI plugin ptp), so that all their traffic passes the forward hook. Not covered: IPv6, endPort, and
// established connections, which stay open. Traffic of the node to its pods (probes) always passes.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os/exec"
	"sort"
	"strings"
	"time"

	core "k8s.io/api/core/v1"
	net "k8s.io/api/networking/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	netlisters "k8s.io/client-go/listers/networking/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

type cluster struct {
	pods       corelisters.PodLister
	namespaces corelisters.NamespaceLister
	policies   netlisters.NetworkPolicyLister
}

func main() {
	kubeconfig := flag.String("kubeconfig", "", "path of the kubeconfig")
	flag.Parse()
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		log.Fatal(err)
	}
	factory := informers.NewSharedInformerFactory(kubernetes.NewForConfigOrDie(config), 0)
	all := cluster{
		factory.Core().V1().Pods().Lister(),
		factory.Core().V1().Namespaces().Lister(),
		factory.Networking().V1().NetworkPolicies().Lister(),
	}
	changed := make(chan struct{}, 1)
	notify := func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	for _, informer := range []cache.SharedIndexInformer{
		factory.Core().V1().Pods().Informer(),
		factory.Core().V1().Namespaces().Informer(),
		factory.Networking().V1().NetworkPolicies().Informer(),
	} {
		informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(any) { notify() },
			UpdateFunc: func(any, any) { notify() },
			DeleteFunc: func(any) { notify() },
		})
	}
	factory.Start(context.Background().Done())
	factory.WaitForCacheSync(context.Background().Done())
	loaded := ""
	for notify(); ; time.Sleep(20 * time.Millisecond) {
		<-changed
		table := all.table()
		if table == loaded {
			continue
		}
		nft := exec.Command("nft", "-f", "-")
		nft.Stdin = strings.NewReader(table)
		if output, err := nft.CombinedOutput(); err != nil {
			log.Printf("nft: %v: %s", err, output)
			time.AfterFunc(time.Second, notify)
			continue
		}
		loaded = table
	}
}

// table returns the nftables text: for each pod that a policy selects, a chain of what passes, and then drop.
func (c cluster) table() string {
	pods, _ := c.pods.List(labels.Everything())
	policies, _ := c.policies.List(labels.Everything())
	sort.Slice(pods, func(i, j int) bool { return pods[i].Status.PodIP < pods[j].Status.PodIP })
	sort.Slice(policies, func(i, j int) bool { return policies[i].Name < policies[j].Name })
	chains := ""
	jumps := map[string][]string{}
	for _, pod := range pods {
		if !isUp(pod) {
			continue
		}
		rules := map[string][]string{}
		for _, policy := range policies {
			if policy.Namespace != pod.Namespace || !matches(policy.Spec.PodSelector, pod.Labels) {
				continue
			}
			for _, kind := range policy.Spec.PolicyTypes {
				rules[string(kind)] = append(rules[string(kind)], "# "+policy.Name)
			}
			for _, rule := range policy.Spec.Ingress {
				rules["Ingress"] = append(rules["Ingress"], c.passes(policy, "saddr", rule.From, rule.Ports, pod)...)
			}
			for _, rule := range policy.Spec.Egress {
				rules["Egress"] = append(rules["Egress"], c.passes(policy, "daddr", rule.To, rule.Ports, pod)...)
			}
		}
		for kind, lines := range rules {
			name := strings.ToLower(kind) + "-" + strings.ReplaceAll(pod.Status.PodIP, ".", "-")
			chains += fmt.Sprintf("chain %s {\n%s\ndrop\n}\n", name, strings.Join(lines, "\n"))
			jumps[kind] = append(jumps[kind], pod.Status.PodIP+" : jump "+name)
		}
	}
	egress, ingress := verdicts("saddr", jumps["Egress"]), verdicts("daddr", jumps["Ingress"])
	hook := "chain %s { type filter hook %s priority filter; policy accept; ct state established,related accept\n%s}\n"
	return "table ip netpol {}\ndelete table ip netpol\ntable ip netpol {\n" + chains +
		fmt.Sprintf(hook, "forward", "forward", egress+ingress) + fmt.Sprintf(hook, "input", "input", egress) + "}\n"
}

func verdicts(side string, jumps []string) string {
	if len(jumps) == 0 {
		return ""
	}
	return fmt.Sprintf("ip %s vmap { %s }\n", side, strings.Join(jumps, ", "))
}

// passes returns the nftables rules of one policy rule. target has the ports that an ingress rule names.
func (c cluster) passes(policy *net.NetworkPolicy, side string, peers []net.NetworkPolicyPeer,
	ports []net.NetworkPolicyPort, target *core.Pod) (rules []string) {
	addresses := []string{}
	for _, peer := range peers {
		if block := peer.IPBlock; block != nil {
			match := fmt.Sprintf("ip %s %s", side, block.CIDR)
			if len(block.Except) > 0 {
				match += fmt.Sprintf(" ip %s != { %s }", side, strings.Join(block.Except, ", "))
			}
			addresses = append(addresses, match)
		} else if found := c.addressesOf(policy.Namespace, peer); len(found) > 0 {
			addresses = append(addresses, fmt.Sprintf("ip %s { %s }", side, strings.Join(found, ", ")))
		}
	}
	if len(peers) == 0 {
		addresses = []string{""}
	}
	for _, address := range addresses {
		if len(ports) == 0 {
			rules = append(rules, address+" return")
		}
		for _, port := range ports {
			protocol, number := "tcp", ""
			if port.Protocol != nil {
				protocol = strings.ToLower(string(*port.Protocol))
			}
			if port.Port != nil {
				number = port.Port.String()
			}
			for _, container := range target.Spec.Containers {
				for _, named := range container.Ports {
					if side == "saddr" && named.Name == number {
						number = fmt.Sprint(named.ContainerPort)
					}
				}
			}
			rules = append(rules, fmt.Sprintf("%s %s dport %s return", address, protocol, number))
		}
	}
	return rules
}

// addressesOf returns the addresses of the pods that a peer selects.
func (c cluster) addressesOf(namespace string, peer net.NetworkPolicyPeer) (found []string) {
	pods, _ := c.pods.List(labels.Everything())
	for _, pod := range pods {
		isPeer := isUp(pod) && (peer.PodSelector == nil || matches(*peer.PodSelector, pod.Labels))
		if peer.NamespaceSelector == nil {
			isPeer = isPeer && pod.Namespace == namespace
		} else if in, err := c.namespaces.Get(pod.Namespace); err != nil || !matches(*peer.NamespaceSelector, in.Labels) {
			isPeer = false
		}
		if isPeer {
			found = append(found, pod.Status.PodIP)
		}
	}
	sort.Strings(found)
	return found
}

func isUp(pod *core.Pod) bool {
	return pod.Status.PodIP != "" && !pod.Spec.HostNetwork &&
		pod.Status.Phase != core.PodSucceeded && pod.Status.Phase != core.PodFailed
}

func matches(selector meta.LabelSelector, set map[string]string) bool {
	s, err := meta.LabelSelectorAsSelector(&selector)
	return err == nil && s.Matches(labels.Set(set))
}

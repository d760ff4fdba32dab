package rules

import "strings"

var referenceRules = []Rule{
	{
		ID: "service-selector", Group: groupReferences, Severity: Warning,
		Reason: "a Service that selects no pods is applied without a word, and refuses every connection",
		Remedy: "make spec.selector a part of the labels in the pod template of the workload that it is for",
		check:  checkServiceSelector,
	},
	{
		ID: "port-reference", Group: groupReferences, Severity: Error,
		Reason: "a port name that no container has leaves a Service without an endpoint and lets a probe fail for ever; one that is given twice is refused or means the first",
		Remedy: "name the port in the container's ports, once, or refer to it by number",
		check:  checkPorts,
	},
	{
		ID: "backend-reference", Group: groupReferences, Severity: Error,
		Reason: "a route to a Service, or to a port of it, that does not exist answers with an error; a webhook that cannot be called stops the API server from taking objects",
		Remedy: "refer to the Service and to the port (not the target port) by the names and numbers that the Service has",
		check:  checkBackends, advise: adviseBackends,
	},
	{
		ID: "key-reference", Group: groupReferences, Severity: Error,
		Reason: "a pod that needs an entry which its ConfigMap or Secret does not have never starts",
		Remedy: "add the entry, refer to one that exists, or mark the reference optional: true",
		check:  checkKeys,
	},
	{
		ID: "disruption-target", Group: groupReferences, Severity: Warning,
		Reason: "a budget that selects no pods protects nothing, and one that allows no eviction blocks the drain of a node until somebody deletes it",
		Remedy: "select a part of the labels in the pod template, and leave at least one pod that may go: maxUnavailable: 1, or fewer in minAvailable than there are replicas",
		check:  checkDisruption,
	},
	{
		ID: "autoscaler-target", Group: groupReferences, Severity: Error,
		Reason: "an autoscaler whose target does not exist scales nothing, and says so only in its status",
		Remedy: "name the workload in scaleTargetRef (targetRef) by its apiVersion, kind and name as they stand in the render",
		check:  checkAutoscalers, advise: adviseAutoscalers,
	},
}

// text formats what an object is for a message: `Deployment "checkout"`.
func (it *item) text() string {
	name := it.id.Name
	if name == "" {
		name = it.GenerateName()
	}
	return it.id.Kind + ` "` + name + `"`
}

// misspelt reports whether one name is likely a typing error for the other: their
// parts between dashes are the same, or long enough and a letter or two apart. A part
// more, or another short one, makes the name of another thing, which an operator, a
// subchart or another application brings: web-redis and web-canary beside web, orders-ro
// beside orders-rw. Names that only differ in digits are those of several that belong
// together.
func misspelt(a, b string) bool {
	shorter := min(len(a), len(b))
	most := 1 + shorter/10
	if a == b || shorter < leastPart || max(len(a), len(b))-shorter > most || strings.Map(noDigit, a) == strings.Map(noDigit, b) {
		return false
	}
	if strings.ReplaceAll(a, "-", "") == strings.ReplaceAll(b, "-", "") {
		return true
	}
	parts, others := strings.Split(a, "-"), strings.Split(b, "-")
	if len(parts) != len(others) {
		return false
	}
	for i, part := range parts {
		if part != others[i] && min(len(part), len(others[i])) < leastPart {
			return false
		}
	}
	return distance(a, b) <= most
}

// leastPart is the length of the shortest part of a name in which a typing error can be
// told from another word.
const leastPart = 5

func noDigit(r rune) rune {
	if r >= '0' && r <= '9' {
		return -1
	}
	return r
}

// A nearness says whether what stands in a reference means an object that is there.
type nearness int

const (
	unlike   nearness = iota
	possible          // it is the other name without its beginning or its end
	likely            // it is misspelt
)

// near compares a name in a reference with that of an object.
func near(wanted, there string) nearness {
	switch {
	case misspelt(wanted, there):
		return likely
	case wanted != "" && (strings.HasPrefix(there, wanted+"-") || strings.HasSuffix(there, "-"+wanted)):
		return possible
	}
	return unlike
}

// distance is the number of letters to add, to leave out, to replace or to exchange
// with their neighbour to make one name of the other (optimal string alignment).
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			other := 1
			if a[i-1] == b[j-1] {
				other = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+other)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}

// whole returns a number of an object, which a decoder gives in one of two types.
func whole(v any) (int64, bool) {
	switch n := v.(type) {
	case int64:
		return n, true
	case float64:
		if n == float64(int64(n)) {
			return int64(n), true
		}
	}
	return 0, false
}

// foreign reports whether others may make pods in a namespace, see place.
func (r *render) foreign(namespace string) bool { return r.place(namespace).foreign }

// makesNothing reports whether a custom resource is one of those, known from many
// charts, that configure what others made.
func makesNothing(it *item) bool {
	switch it.id.Group {
	case "acme.cert-manager.io", "autoscaling.k8s.io", "bitnami.com", "cert-manager.io", "cilium.io", "configuration.konghq.com",
		"crd.projectcalico.org", "external-secrets.io", "gateway.envoyproxy.io", "gateway.networking.k8s.io", "kyverno.io", "metrics.k8s.io",
		"monitoring.googleapis.com", "networking.istio.io", "policies.kyverno.io", "policy.linkerd.io", "policy.networking.k8s.io", "projectcontour.io",
		"secrets-store.csi.x-k8s.io", "security.istio.io", "security.openshift.io", "route.openshift.io", "snapshot.storage.k8s.io",
		"telemetry.istio.io", "traefik.containo.us", "traefik.io":
		return true
	}
	switch it.id.Group + "/" + it.id.Kind {
	case "argoproj.io/AnalysisTemplate", "argoproj.io/AppProject", "argoproj.io/Application", "argoproj.io/ApplicationSet",
		"keda.sh/ClusterTriggerAuthentication", "keda.sh/ScaledObject", "keda.sh/TriggerAuthentication",
		"monitoring.coreos.com/AlertmanagerConfig", "monitoring.coreos.com/PodMonitor", "monitoring.coreos.com/Probe",
		"monitoring.coreos.com/PrometheusRule", "monitoring.coreos.com/ScrapeConfig", "monitoring.coreos.com/ServiceMonitor":
		return true
	}
	return false
}

package rules

import (
	"maps"
	"slices"

	"github.com/argoproj/gitops-engine/pkg/sync/common"

	"hallmark.dev/hallmark/internal/object"
)

// checkWaveHealth looks for waves that end at once: they hold custom resources, none
// of which Argo CD can wait for, and something comes in a later wave that somebody
// chose.
func checkWaveHealth(r *render, report report) {
	definitions := r.definitions()
	for p := preSync; p <= syncFail; p++ {
		waves := map[int][]*item{}
		last := 0
		found := false
		for _, it := range r.items {
			for _, m := range it.moments {
				if m.phase != p {
					continue
				}
				waves[m.wave] = append(waves[m.wave], it)
				if it.waved && (!found || m.wave > last) {
					last, found = m.wave, true
				}
			}
		}
		for _, wave := range slices.Sorted(maps.Keys(waves)) {
			if !found || wave >= last {
				break
			}
			for _, it := range r.blind(waves[wave], definitions) {
				report(it, nil, "Argo CD knows no health check for %s of %s, so that wave %d of the %s phase does not wait for it", it.id.Kind, it.id.Group, wave, p)
			}
		}
	}
}

// blind returns the custom resources of a wave, one of each kind, if a sync can wait
// for nothing in it.
func (r *render) blind(wave []*item, definitions map[groupKind]*definition) []*item {
	var out []*item
	for _, it := range wave {
		switch {
		case it.is("", "Service"): // healthy at once, but for load balancers
		case r.healthKnown(it):
			return nil
		case custom(it.id.Group) && !it.isStatic(definitions[it.groupKind()]) && !slices.ContainsFunc(out, func(o *item) bool { return o.is(it.id.Group, it.id.Kind) }):
			out = append(out, it)
		}
	}
	return out
}

// staticGroups and staticKinds are custom resources that are configuration: nothing
// happens to them that one could wait for.
var (
	staticGroups = []string{
		"kyverno.io", "monitoring.coreos.com", "traefik.io", "traefik.containo.us", "templates.gatekeeper.sh", "constraints.gatekeeper.sh",
		"gateway.networking.k8s.io", "networking.istio.io", "security.istio.io", "telemetry.istio.io", "snapshot.storage.k8s.io",
		"secrets-store.csi.x-k8s.io", "cilium.io", "crd.projectcalico.org", "console.openshift.io", "config.openshift.io",
	}
	staticKinds = []string{
		"AppProject", "WorkflowTemplate", "ClusterWorkflowTemplate", "AnalysisTemplate", "ClusterAnalysisTemplate", "SecurityContextConstraints",
		"TriggerAuthentication", "ClusterTriggerAuthentication", "MetricTemplate", "AlertProvider", "VerticalPodAutoscaler",
	}
	// Operators run these, whatever group they are in.
	runningKinds = []string{"Alertmanager", "Prometheus", "PrometheusAgent", "ThanosRuler"}
)

func isConfiguration(id object.ID) bool {
	return slices.Contains(staticGroups, id.Group) && !slices.Contains(runningKinds, id.Kind) || slices.Contains(staticKinds, id.Kind)
}

// isStatic reports whether there is nothing to wait for: the kind is known as
// configuration, or its definition in the render has no status.
func (it *item) isStatic(d *definition) bool {
	if d == nil || isConfiguration(it.id) {
		return isConfiguration(it.id)
	}
	for _, version := range object.Items(object.Field(d.crd.Value, "spec", "versions")) {
		if object.Field(version, "subresources", "status") != nil || object.Field(version, "schema", "openAPIV3Schema", "properties", "status") != nil {
			return false
		}
	}
	return true
}

// checkWavePhases looks for waves that order nothing in their own phase and are
// numbered as if they stood in one line with those of the Sync phase. Only waves that
// Argo CD's annotation gives count: weights of Helm are numbered by hook.
func checkWavePhases(r *render, report report) {
	byPhase := map[phase][]*item{}
	for _, it := range r.items {
		if it.annotation(common.AnnotationSyncWave) == "" {
			continue
		}
		for _, m := range it.moments {
			byPhase[m.phase] = append(byPhase[m.phase], it)
		}
	}
	lowest, highest, found := span(byPhase[inSync])
	if !found {
		return
	}
	at := path{"metadata", "annotations", common.AnnotationSyncWave}
	first, last, _ := span(byPhase[preSync])
	for _, it := range byPhase[preSync] {
		if wave := it.moments[0].wave; wave > 0 && (first == last && wave > lowest || first > highest) {
			report(it, at, "the PreSync hook in wave %d runs before the object in wave %d of the Sync phase", wave, lowest)
		}
	}
	_, last, _ = span(byPhase[postSync])
	for _, it := range byPhase[postSync] {
		if wave := it.moments[0].wave; wave != 0 && last < lowest {
			report(it, at, "the PostSync hook in wave %d runs after the object in wave %d of the Sync phase", wave, highest)
		}
	}
}

// span returns the lowest and the highest wave.
func span(items []*item) (lowest, highest int, found bool) {
	for _, it := range items {
		wave := it.moments[0].wave
		if !found {
			lowest, highest, found = wave, wave, true
		}
		lowest, highest = min(lowest, wave), max(highest, wave)
	}
	return lowest, highest, found
}

package cluster

import (
	"context"
	"testing"
	"time"

	"hallmark.dev/hallmark/e2e/wait"
)

// ready is long ago, so that minReadySeconds of a Deployment is over at once.
const ready = "2020-01-01T00:00:00Z"

// podList and autoscalerList are what playNodes looks at.
type (
	podList        struct{ Items []pod }
	autoscalerList struct {
		Items []struct {
			Metadata struct{ Name, Namespace string }
			Status   struct{ Conditions []Object }
		}
	}
)

// playNodes reports what nodes and a metrics server would: a pod of a Job has
// succeeded, unless a Node runs it, any other pod is ready, an autoscaler has
// metrics. It ends with the test. Errors are left to the next round; if they
// last, the wait of the test that needs the pod says so.
func (c *Cluster) playNodes(t testing.TB) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	t.Cleanup(func() { cancel(); <-done })
	go func() {
		defer close(done)
		for round := time.NewTicker(wait.Interval); ; {
			select {
			case <-ctx.Done():
				round.Stop()
				return
			case <-round.C:
				c.playPods()
				c.playAutoscalers()
			}
		}
	}()
}

func (c *Cluster) playPods() {
	var pods podList
	if c.Get("/api/v1/pods?fieldSelector=status.phase=Pending", &pods) != nil {
		return
	}
	for _, pod := range pods.Items {
		m := pod.Metadata
		if m.DeletionTimestamp != "" {
			continue
		}
		status := Object{"phase": "Running", "startTime": ready, "conditions": []Object{
			{"type": "Ready", "status": "True", "lastTransitionTime": ready},
		}}
		if len(m.OwnerReferences) > 0 && m.OwnerReferences[0].Kind == "Job" {
			if node, ok := c.nodes.Load(m.Namespace); ok {
				node.(*Node).admit(pod)
				continue
			}
			status = Object{"phase": "Succeeded", "startTime": ready}
		}
		_ = c.Patch("/api/v1/namespaces/"+m.Namespace+"/pods/"+m.Name+"/status", MergePatch, Object{"status": status})
	}
}

func (c *Cluster) playAutoscalers() {
	var list autoscalerList
	if c.Get("/apis/autoscaling/v2/horizontalpodautoscalers", &list) != nil {
		return
	}
	for _, autoscaler := range list.Items {
		m := autoscaler.Metadata
		if len(autoscaler.Status.Conditions) > 0 {
			continue
		}
		_ = c.Patch("/apis/autoscaling/v2/namespaces/"+m.Namespace+"/horizontalpodautoscalers/"+m.Name+"/status", MergePatch,
			Object{"status": Object{"desiredReplicas": 1, "currentReplicas": 1, "conditions": []Object{
				{"type": "AbleToScale", "status": "True", "reason": "SucceededGetScale", "lastTransitionTime": ready},
				{"type": "ScalingActive", "status": "True", "reason": "ValidMetricFound", "lastTransitionTime": ready},
			}}})
	}
}

package vm

import (
	"github.com/argoproj/gitops-engine/pkg/health"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Native judges obj without any script, as Argo CD does before and after it looks for
// one: an object that is being deleted, and kinds such as Deployment for which it
// has code. ok is false where it has none, and a wave goes on at once.
func Native(obj map[string]any) (v Verdict, ok bool, err error) {
	defer recovered(&err)
	status, err := health.GetResourceHealth(&unstructured.Unstructured{Object: obj}, nil)
	if err != nil || status == nil {
		return Verdict{}, err != nil, err
	}
	return Verdict{Status: string(status.Status), Message: status.Message}, true, nil
}

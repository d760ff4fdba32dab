package projection

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is that of the API.
var GroupVersion = schema.GroupVersion{Group: Group, Version: Version}

// AddToScheme tells a scheme of the types, which have no other version.
func AddToScheme(s *runtime.Scheme) {
	s.AddKnownTypeWithName(GroupVersion.WithKind(Kind), &MigrationLedger{})
	s.AddKnownTypeWithName(GroupVersion.WithKind(Kind+"List"), &MigrationLedgerList{})
	metav1.AddToGroupVersion(s, GroupVersion)
}

// DeepCopyObject is a copy that shares nothing.
func (o *MigrationLedger) DeepCopyObject() runtime.Object {
	copied := *o
	o.ObjectMeta.DeepCopyInto(&copied.ObjectMeta)
	copied.Spec.Changes = copyOf(o.Spec.Changes, func(c *ChangeSpec) { c.Invariants = slices.Clone(c.Invariants) })
	copied.Status.Conditions = slices.Clone(o.Status.Conditions)
	copied.Status.Changes = copyOf(o.Status.Changes, func(c *ChangeStatus) {
		c.LeaseUntil, c.StartedAt, c.FinishedAt = c.LeaseUntil.DeepCopy(), c.StartedAt.DeepCopy(), c.FinishedAt.DeepCopy()
		c.Invariants = copyOf(c.Invariants, func(i *InvariantStatus) {
			i.CheckedAt = i.CheckedAt.DeepCopy()
			if i.Holds != nil {
				holds := *i.Holds
				i.Holds = &holds
			}
		})
	})
	return &copied
}

// DeepCopyObject is a copy that shares nothing.
func (l *MigrationLedgerList) DeepCopyObject() runtime.Object {
	copied := *l
	l.ListMeta.DeepCopyInto(&copied.ListMeta)
	copied.Items = copyOf(l.Items, func(o *MigrationLedger) { *o = *o.DeepCopyObject().(*MigrationLedger) })
	return &copied
}

func copyOf[T any](list []T, own func(*T)) []T {
	copied := slices.Clone(list)
	for i := range copied {
		own(&copied[i])
	}
	return copied
}

package controller

import (
	"crypto/sha256"
	"encoding/json"

	"k8s.io/apimachinery/pkg/runtime"

	"hallmark.dev/hallmark/internal/ledger"
	"hallmark.dev/hallmark/internal/ledger/projection"
)

// known is what is held of an object: what a look needs. Of status.changes, which are
// most of it, that is a digest and the states.
type known struct {
	projection.MigrationLedger
	changes digest
	states  []state
}

// A state is that of a change, in the order of status.changes.
type state struct {
	key string
	is  ledger.State
}

// digest is that of a list of changes as JSON.
type digest [sha256.Size]byte

// hold keeps of an object, which nobody else has yet, what is of use here. Managed
// fields are as large as the status itself.
func hold(o *projection.MigrationLedger) *known {
	k := &known{changes: digestOf(o.Status.Changes)}
	for i, c := range o.Status.Changes {
		if i < len(o.Spec.Changes) && o.Spec.Changes[i].Key == c.Key {
			c.Key = o.Spec.Changes[i].Key // one copy of it
		}
		for _, is := range []ledger.State{ledger.Running, ledger.Succeeded, ledger.Failed, ledger.Unknown, ledger.Absent} {
			if c.State == is {
				k.states = append(k.states, state{c.Key, is})
			}
		}
	}
	revision, stamped := o.Annotations[projection.AnnotationSourceRevision]
	o.ManagedFields, o.Labels, o.Annotations, o.OwnerReferences, o.Finalizers, o.Status.Changes = nil, nil, nil, nil, nil, nil
	if stamped {
		o.Annotations = map[string]string{projection.AnnotationSourceRevision: revision}
	}
	k.MigrationLedger = *o
	return k
}

func digestOf(changes []projection.ChangeStatus) digest {
	text, err := json.Marshal(changes)
	if err != nil { // of a year beyond 9999: such a status cannot be written either
		return digest{}
	}
	return sha256.Sum256(text)
}

// has reports whether the object has a status already, which a reading made.
func (k *known) has(status projection.Status, fault projection.Fault) bool {
	if fault == "" && digestOf(status.Changes) != k.changes {
		return false
	}
	status.Changes = nil // with a fault they stay
	return projection.Equal(k.Status, status)
}

// DeepCopyObject is a copy that shares nothing that changes.
func (k *known) DeepCopyObject() runtime.Object {
	copied := *k
	copied.MigrationLedger = *k.MigrationLedger.DeepCopyObject().(*projection.MigrationLedger)
	return &copied
}

// knownList is a list for an informer.
type knownList struct {
	projection.MigrationLedgerList // without its items
	Items                          []known
}

// DeepCopyObject is a copy that shares no items.
func (l *knownList) DeepCopyObject() runtime.Object {
	copied := &knownList{MigrationLedgerList: l.MigrationLedgerList}
	for i := range l.Items {
		copied.Items = append(copied.Items, *l.Items[i].DeepCopyObject().(*known))
	}
	return copied
}

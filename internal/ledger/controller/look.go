package controller

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/internal/ledger"
	"hallmark.dev/hallmark/internal/ledger/history"
	"hallmark.dev/hallmark/internal/ledger/projection"
)

type source = projection.Source

// read asks the database of a source for the changes of the objects, with one query.
// The error is that of a reading that has a fault, for the log.
func (c *Controller) read(ctx context.Context, s source, objects []*known) (projection.Reading, error) {
	wanted := map[string]bool{}
	for _, o := range objects {
		for i := range o.Spec.Changes {
			wanted[o.Spec.Changes[i].Key] = true
		}
	}
	keys := slices.Sorted(maps.Keys(wanted))
	r := projection.Reading{Now: c.o.Now(), Records: make(map[string]*ledger.Change, len(keys))}
	err := c.o.Databases(s.Database, func(db *ledger.DB) error {
		if s.Tool != projection.Hallmark {
			changes, err := history.Read(ctx, db, history.Tool(s.Tool), s.Table, keys)
			for key, change := range changes {
				r.Records[key] = &change
			}
			return err
		}
		changes, now, err := ledger.New(db, cmp.Or(s.Table, c.o.Schema)).Changes(ctx, keys)
		if err != nil {
			return err
		}
		r.Now = now
		for i := range changes {
			r.Records[changes[i].Key] = &changes[i]
		}
		return nil
	})
	switch {
	case err == nil:
	case errors.Is(err, ErrNotConfigured):
		r.Fault = projection.NotConfigured
	default:
		r.Fault = projection.FaultOf(ledger.KindOf(err))
	}
	c.metrics.query(r.Fault)
	return r, err
}

// maxFailures is how many writes in a row may fail before the rest waits.
const maxFailures = 5

// write brings the status of objects to what was read of their source. done, where it
// is not nil, is told what became of each object whose turn it was.
func (c *Controller) write(ctx context.Context, objects []*known, r projection.Reading, done func(*known, projection.Status, error)) {
	failures := 0
	for _, k := range objects {
		if ctx.Err() != nil || failures == maxFailures {
			return
		}
		if k.DeletionTimestamp != nil {
			continue
		}
		shown := k
		k = c.newest(k)
		status := projection.Project(&k.MigrationLedger, r)
		var err error
		if !k.has(status, r.Fault) {
			if !c.mayWrite(k) {
				continue
			}
			if status, err = c.apply(ctx, shown, k, status, r); err == nil || errors.Is(err, errGone) {
				failures = 0
			} else {
				failures++
			}
		}
		if done != nil {
			done(shown, status, err)
		}
	}
}

// apply writes one status, and says so. The object is k; the watch shows it as shown. It
// returns the status that was to be written, with what is not held of it.
func (c *Controller) apply(ctx context.Context, shown, k *known, status projection.Status, r projection.Reading) (projection.Status, error) {
	var now *known
	var err error
	if r.Fault != "" { // what was read before is written again, or it would be gone
		var o *projection.MigrationLedger
		if o, err = c.api.get(ctx, k); err == nil {
			status = projection.Project(o, r)
		}
	}
	if err == nil {
		now, err = c.api.apply(ctx, k, status)
	}
	if ctx.Err() != nil {
		return status, ctx.Err()
	}
	c.metrics.patch(err)
	s := k.Spec.Source()
	log := c.o.Log.With("ledger", name(k), "database", s.Database, "tool", s.Tool)
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err == nil:
		delete(c.writes, k.UID)
		c.unseen[k.UID] = unseen{shown.ResourceVersion, now}
		log.Info("status written", "summary", status.Summary, "reason", reason(status), "changed", changed(k, status))
	case errors.Is(err, errGone):
		delete(c.writes, k.UID)
		log.Debug("status not written: the object is gone")
	default:
		if c.writes[k.UID] == nil {
			c.writes[k.UID] = &retry{}
		}
		seconds, _ := apierrors.SuggestsClientDelay(err)
		c.writes[k.UID].failed(&c.o, c.o.Now(), time.Duration(seconds)*time.Second)
		err = explain("writing the status", err)
		log.Warn("status not written", "error", err.Error(), "hint", diag.Hint(err), "failures", c.writes[k.UID].failures)
	}
	return status, err
}

// unseen is an object as a write left it, which the watch has not shown yet. What it
// shows would be projected as if nothing had been written since.
type unseen struct {
	shown string // the resourceVersion that the watch shows until then
	now   *known
}

// newest is an object as it was last written, or as the watch shows it since.
func (c *Controller) newest(k *known) *known {
	c.mu.Lock()
	defer c.mu.Unlock()
	if u, ok := c.unseen[k.UID]; ok && u.shown == k.ResourceVersion {
		return u.now
	}
	delete(c.unseen, k.UID) // the watch may have been faster than the answer
	return k
}

// seen is for an object of which the watch shows another version, or that it is gone.
func (c *Controller) seen(k *known, gone bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.unseen, k.UID)
	if gone {
		delete(c.writes, k.UID)
	}
}

// mayWrite is false while the object's last write failed lately.
func (c *Controller) mayWrite(k *known) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.writes[k.UID]
	return r == nil || !c.o.Now().Before(r.at)
}

// reason is that of the Ready condition.
func reason(status projection.Status) string {
	for _, c := range status.Conditions {
		if c.Type == "Ready" {
			return c.Reason
		}
	}
	return ""
}

// changed lists what a status makes different, for the log: changes of another state,
// and conditions that came or went.
func changed(k *known, now projection.Status) []string {
	list := []string{}
	states := map[string]ledger.State{}
	for _, s := range k.states {
		states[s.key] = s.is
	}
	for _, c := range now.Changes {
		if before := cmp.Or(states[c.Key], "none"); before != c.State {
			list = append(list, c.Key+": "+string(before)+" to "+string(c.State))
		}
	}
	old := k.Status.Conditions
	for _, change := range []struct {
		from, to []metav1.Condition
		word     string
	}{{now.Conditions, old, " is "}, {old, now.Conditions, " was "}} {
		for _, c := range change.from {
			if !slices.ContainsFunc(change.to, func(o metav1.Condition) bool { return o.Type == c.Type && o.Status == c.Status }) {
				list = append(list, c.Type+change.word+string(c.Status))
			}
		}
	}
	return list
}

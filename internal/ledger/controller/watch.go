package controller

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/internal/ledger/projection"
)

// Watch keeps every status up to date until ctx ends. It returns an error where the
// objects cannot be listed when it starts; what fails later is logged and tried again.
func (c *Controller) Watch(ctx context.Context) error {
	if _, err := c.api.list(ctx, metav1.ListOptions{Limit: 1}); err != nil {
		return explain("listing MigrationLedgers", err)
	}
	informer, err := c.informer()
	if err != nil {
		return err
	}
	known, err := informer.AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(added any, initial bool) {
			delay := c.o.soon()
			if initial { // all of them are here before the first look
				delay = 0
			}
			c.changed(added.(*known), delay)
		},
		UpdateFunc: func(before, after any) {
			old, now := before.(*known), after.(*known)
			c.seen(now, false)
			if asksOtherwise(old, now) {
				c.changed(now, c.o.soon())
			}
		},
		DeleteFunc: func(deleted any) {
			if unseen, ok := deleted.(cache.DeletedFinalStateUnknown); ok {
				deleted = unseen.Obj
			}
			if k, ok := deleted.(*known); ok {
				c.seen(k, true)
			}
		},
	})
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer stop()
	wg.Go(func() { informer.RunWithContext(ctx) })
	if !cache.WaitForCacheSync(ctx.Done(), known.HasSynced) {
		return nil // ctx ended
	}
	c.ready.Store(true)
	c.loop(ctx, informer.GetIndexer())
	return nil
}

// informer holds the objects, by source.
func (c *Controller) informer() (cache.SharedIndexInformer, error) {
	informer := cache.NewSharedIndexInformer(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			// Pages of the newest state: what the API server has in memory it gives in
			// one piece, whatever the limit.
			options.ResourceVersion, options.ResourceVersionMatch, options.Limit = "", "", pageSize
			return c.api.list(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return c.api.watch(ctx, options)
		},
	}, &known{}, 0, cache.Indexers{bySource: func(o any) ([]string, error) {
		return []string{key(o.(*known).Spec.Source())}, nil
	}})
	return informer, informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) {
		switch {
		case errors.Is(err, io.EOF), apierrors.IsResourceExpired(err), apierrors.IsGone(err): // the end of any watch
			c.o.Log.Debug("the watch ended")
		default:
			err = explain("watching MigrationLedgers", err)
			c.o.Log.Warn("the objects are not watched, and stay as they were", "error", err.Error(), "hint", diag.Hint(err))
		}
	})
}

// bySource is the name of the index.
const bySource = "source"

// asksOtherwise reports whether the answer to an object can be another one. A change of
// the status alone, which is mostly ours, is none.
func asksOtherwise(old, now *known) bool {
	return old.UID != now.UID || old.Generation != now.Generation ||
		old.Annotations[projection.AnnotationSourceRevision] != now.Annotations[projection.AnnotationSourceRevision]
}

// changed brings the look forward that an object waits for.
func (c *Controller) changed(k *known, delay time.Duration) {
	now := c.o.Now()
	if !c.turns.changed(k.Spec.Source(), now, now.Add(c.o.later(delay))) {
		return
	}
	c.rouse()
}

// rouse makes the loop turn.
func (c *Controller) rouse() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// loop starts the looks that are due, until ctx ends and those that go on have ended.
func (c *Controller) loop(ctx context.Context, objects cache.Indexer) {
	var wg sync.WaitGroup
	defer wg.Wait()
	for ctx.Err() == nil {
		now := c.o.Now()
		c.beat.Store(now.UnixNano())
		due, next := c.turns.take(now, now.Add(c.o.Interval))
		for _, s := range due {
			wg.Go(func() {
				c.turn(ctx, s, objects)
				c.rouse()
			})
		}
		select {
		case <-ctx.Done():
		case <-c.wake:
		case <-time.After(next.Sub(now)):
		}
	}
}

// turn is one look at a source.
func (c *Controller) turn(ctx context.Context, s source, indexer cache.Indexer) {
	found, err := indexer.ByIndex(bySource, key(s))
	if err != nil {
		c.o.Log.Error("reading the objects", "error", err.Error())
	}
	if len(found) == 0 {
		c.turns.empty(s, c.o.Now())
		return
	}
	objects := make([]*known, len(found))
	for i, o := range found {
		objects[i] = o.(*known)
	}
	fault, known := c.turns.known(s, c.o.Now())
	reading := projection.Reading{Fault: fault, Now: c.o.Now()}
	if !known {
		reading, err = c.read(ctx, s, objects)
	}
	if ctx.Err() != nil {
		return // what the end of the process broke off is no fault of the database
	}
	log := c.o.Log.With("database", s.Database, "tool", s.Tool, "table", s.Table)
	switch {
	case reading.Fault == fault:
		log.Debug("looked", "ledgers", len(objects), "fault", string(fault), "asked", !known)
	case reading.Fault == "":
		log.Info("the database can be read again")
	default:
		log.Warn("the database cannot be read", "fault", string(reading.Fault), "error", err.Error(), "hint", diag.Hint(err))
	}
	c.write(ctx, objects, reading, nil)
	c.turns.ended(s, reading.Fault, !known, c.o.Now(), &c.o)
}

// alive says why the process has to be started anew, or nil.
func (c *Controller) alive() error {
	now := c.o.Now()
	if beat := c.beat.Load(); beat != 0 && now.Sub(time.Unix(0, beat)) > max(5*c.o.Interval, time.Minute) {
		return fmt.Errorf("the loop has not turned since %s", time.Unix(0, beat).UTC().Format(time.RFC3339))
	}
	// A query and a write have their bounds, and a look many writes.
	if _, busiest := c.turns.oldest(now); busiest > max(20*c.o.Interval, 20*time.Minute) {
		return fmt.Errorf("a look has not ended for %s", busiest.Round(time.Second))
	}
	return nil
}

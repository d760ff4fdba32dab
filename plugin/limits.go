package plugin

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime/metrics"
	"time"

	"hallmark.dev/hallmark/plugin/source"
)

// LimitError says that a render needed more than its Limits allow.
type LimitError struct {
	// Limit is the limit's name: "renderTime" or "memoryBytes".
	Limit string
	// Allowed is its value, as it is written in a policy.
	Allowed string
}

func (e *LimitError) Error() string {
	if e.Limit == "renderTime" {
		return fmt.Sprintf("rendering takes longer than limits.renderTime allows (%s)", e.Allowed)
	}
	return fmt.Sprintf("rendering needs more memory than limits.%s allows (%s)", e.Limit, e.Allowed)
}

// Hint says how to get past the limit.
func (e *LimitError) Hint() string {
	value := "N"
	if e.Limit == "renderTime" {
		value = "90s"
	}
	return fmt.Sprintf("look for a template that loops or repeats without bound; or raise limits.%s (--limit %s=%s on the command line, the policy in the plugin)", e.Limit, e.Limit, value)
}

// IsLimit reports whether err says that a render, or its tree, needed more than
// its limits allow.
func IsLimit(err error) bool {
	render, tree := (*LimitError)(nil), (*source.LimitError)(nil)
	return errors.As(err, &render) || errors.As(err, &tree)
}

// guard bounds the time and the memory of one render. A template that never
// ends cannot be stopped from outside, but the caller gets its answer. The
// memory is that of the whole process: with several renders at once the limit is
// one for all of them.
func guard(ctx context.Context, l Limits) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(l.RenderTime, func() {
		cancel(&LimitError{"renderTime", l.RenderTime.String()})
	})
	ticker := time.NewTicker(20 * time.Millisecond)
	start := heapBytes()
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				if now := heapBytes(); now-start > l.MemoryBytes {
					cancel(&LimitError{"memoryBytes", fmt.Sprint(l.MemoryBytes)})
					return
				}
			}
		}
	}()
	return ctx, func() {
		timer.Stop()
		ticker.Stop()
		cancel(nil)
	}
}

// heapBytes is the size of what the last garbage collection found in use. What
// other renders have dropped since does not count; a heap that grows fast is
// collected often.
func heapBytes() int64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return int64(min(sample[0].Value.Uint64(), math.MaxInt64))
}

// explain prefers the reason for which the context ended to whatever error the
// renderer made of it.
func explain(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
		return cause
	}
	return err
}

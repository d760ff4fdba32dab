package executor

import (
	"context"
	"sync"
	"time"

	"hallmark.dev/hallmark/internal/ledger"
)

// A keeper renews a lease until it is lost or no longer needed.
type keeper struct {
	ledger *ledger.Ledger
	key    string
	token  string
	length time.Duration
	margin time.Duration // before the end, in which the command is stopped
	spare  time.Duration // of that, after it was killed: a busy machine is late

	lost chan struct{} // closed when the lease is lost, or margin before it may be
	done chan struct{} // closed when the keeper has ended
	stop context.CancelFunc

	mu  sync.Mutex
	end time.Time // no later than the end that the database knows
	why string    // it was lost
}

// keep renews a lease that was asked for at the time asked.
func keep(ctx context.Context, o *Options, asked time.Time) *keeper {
	ctx, stop := context.WithCancel(ctx)
	spare := min(10*time.Second, o.Request.Lease/10)
	k := &keeper{
		ledger: o.Ledger, key: o.Request.Key, token: o.Request.Token, length: o.Request.Lease,
		margin: min(o.Grace, o.Request.Lease/4) + spare, spare: spare, lost: make(chan struct{}), done: make(chan struct{}), stop: stop,
		end: asked.Add(o.Request.Lease),
	}
	go func() {
		defer close(k.done)
		k.watch(ctx)
	}()
	return k
}

// watch renews in one goroutine and waits for the end of the lease in this one: a
// renewal that hangs does not keep it from being seen.
func (k *keeper) watch(ctx context.Context) {
	ctx, stop := context.WithCancel(ctx)
	ended := make(chan string, 1)
	var renewals sync.WaitGroup
	renewals.Go(func() { ended <- k.renew(ctx) })
	defer renewals.Wait()
	defer stop() // a lease that was given up is not made longer
	for {
		timer := time.NewTimer(time.Until(k.deadline().Add(-k.margin)))
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case why := <-ended:
			timer.Stop()
			if ctx.Err() == nil {
				k.lose(why)
			}
			return
		case <-timer.C:
			if k.over() {
				k.lose("it could not be renewed in time")
				return
			}
		}
	}
}

// renew renews the lease again and again. It returns when the lease is lost.
func (k *keeper) renew(ctx context.Context) string {
	wait := k.length / 3
	for {
		select {
		case <-ctx.Done():
			return ""
		case <-time.After(wait):
		}
		asked := time.Now()
		held, err := k.ask(ctx)
		switch {
		case err != nil:
			wait = min(time.Second, k.length/20)
		case !held:
			return "somebody decided about the attempt, or it ran out"
		default:
			wait = k.length / 3
			k.mu.Lock()
			k.end = asked.Add(k.length)
			k.mu.Unlock()
		}
	}
}

// ask renews the lease. A connection that hangs leaves time for others.
func (k *keeper) ask(ctx context.Context) (held bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, k.length/6)
	defer cancel()
	_, held, err = k.ledger.Renew(ctx, k.key, k.token, k.length)
	return held, err
}

// over reports whether nothing may be begun under the lease any more.
func (k *keeper) over() bool { return time.Until(k.deadline()) <= k.margin }

func (k *keeper) deadline() time.Time {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.end
}

// left is how long a command may go on.
func (k *keeper) left() time.Duration { return time.Until(k.deadline()) - k.spare }

func (k *keeper) lose(why string) {
	k.mu.Lock()
	k.why = why
	k.mu.Unlock()
	close(k.lost)
}

// reason is why the lease was lost.
func (k *keeper) reason() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.why
}

// release ends the renewals.
func (k *keeper) release() {
	k.stop()
	<-k.done
}

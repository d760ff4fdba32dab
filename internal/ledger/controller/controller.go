package controller

import (
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"hallmark.dev/hallmark/internal/ledger"
)

// ErrNotConfigured is the error of [Databases] for a name that it has no address of.
var ErrNotConfigured = errors.New("no address is configured")

// Databases calls use with the database of a name that stands in a spec, so that the
// database stays open for as long. It is called by several goroutines at once.
type Databases func(name string, use func(*ledger.DB) error) error

// Options are what a Controller needs. All but Namespace, Schema and Version must be
// there.
type Options struct {
	API       *rest.Config
	Namespace string // "" for all
	Databases Databases
	Schema    string // of hallmark's own tables, where a spec names none
	// Interval is how often a source is looked at.
	Interval time.Duration
	Log      *slog.Logger
	Now      func() time.Time
	Random   func() float64 // below 1, not below 0
	Version  string         // for the metrics
}

// Controller writes the status of MigrationLedgers.
type Controller struct {
	o       Options
	api     *api
	metrics *instruments

	turns turns
	wake  chan struct{}
	beat  atomic.Int64 // when the loop last turned, in nanoseconds of Unix time; 0 before it runs
	ready atomic.Bool  // the objects are known

	mu     sync.Mutex
	writes map[types.UID]*retry // of objects whose last write failed
	unseen map[types.UID]unseen
}

// New is a Controller that has not asked anybody for anything yet.
func New(o Options) (*Controller, error) {
	api, err := newAPI(o.API, o.Namespace)
	if err != nil {
		return nil, err
	}
	c := &Controller{o: o, api: api, wake: make(chan struct{}, 1), writes: map[types.UID]*retry{}, unseen: map[types.UID]unseen{}}
	c.turns.of = map[source]*turn{}
	c.metrics = newInstruments(c)
	return c, nil
}

// maxDelay bounds the time between two tries, unless the interval is longer.
const maxDelay = 2 * time.Minute

// A retry is what failed, and when it may be tried again.
type retry struct {
	failures int
	at       time.Time
}

// failed counts a failure: the interval, then twice that and so on, and a little more by
// chance. Whoever refused may have said how long to wait at least.
func (r *retry) failed(o *Options, now time.Time, atLeast time.Duration) {
	r.failures++
	delay := o.Interval << min(r.failures-1, 16)
	if most := max(maxDelay, o.Interval); delay > most || delay <= 0 {
		delay = most
	}
	r.at = now.Add(o.later(max(delay, atLeast)))
}

// later is a duration and up to a tenth more, by chance. It is never less: a source is
// not looked at more often than each interval.
func (o *Options) later(d time.Duration) time.Duration {
	return d + time.Duration(float64(d)*o.Random()/10)
}

// name is that of an object, for people.
func name(k *known) string { return k.Namespace + "/" + k.Name }

package derive

import (
	"crypto/x509"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestPeriods walks over the borders of the periods of CA and leaves.
func TestPeriods(t *testing.T) {
	t.Parallel()
	first, second := quickChain()[0], quickChain()[1]
	o := certificateOptions(t)
	c := newCertificates(t.Context(), o, o.stream)
	leaves, err := c.validity(365 * day)
	if err != nil {
		t.Fatal(err)
	}
	cas, err := c.validity(3650 * day)
	if err != nil {
		t.Fatal(err)
	}
	const period = 121 * day
	if got := leaves.next.Sub(leaves.from); got != period+slack || o.Now.Before(leaves.from.Add(slack)) || !o.Now.Before(leaves.next) {
		t.Fatalf("got a period from %v to %v, want one of %s with %v in it", leaves.from, leaves.next, period, o.Now)
	}
	type state struct {
		at       time.Time
		root     *x509.Certificate
		leaf     *x509.Certificate
		printed  printed
		until    time.Time
		rootTill time.Time
	}
	at := func(now time.Time) state {
		o := o
		o.Now = now
		got := rewritten(t, o, first, second)
		c := gathered(t, o, first, second)
		_, _, until, err := c.replace(first["web/tls.crt"])
		if err != nil {
			t.Fatal(err)
		}
		_, _, rootTill, err := c.replace(first["ca/ca.crt"])
		if err != nil {
			t.Fatal(err)
		}
		return state{now, certificateOf(t, got["ca/ca.crt"]), certificateOf(t, got["web/tls.crt"]), got, until, rootTill}
	}
	var states []state
	for _, border := range []time.Time{leaves.next, leaves.next.Add(period), cas.next, cas.next.Add(1216 * day)} {
		states = append(states, at(border.Add(-time.Second)), at(border), at(border.Add(period/2)))
	}
	slices.SortFunc(states, func(a, b state) int { return a.at.Compare(b.at) })
	for i, s := range states {
		if err := verify(s.leaf, s.root, s.at); err != nil {
			t.Errorf("%v: %v", s.at, err)
		}
		if s.leaf.NotAfter.After(s.root.NotAfter) {
			t.Errorf("%v: the leaf outlives the CA", s.at)
		}
		if left := s.leaf.NotAfter.Sub(s.at); left < 365*day*2/3 {
			t.Errorf("%v: %s of the leaf are left, less than two thirds", s.at, left)
		}
		if left := s.root.NotAfter.Sub(s.at); left < 3650*day*2/3 {
			t.Errorf("%v: %s of the CA are left, less than two thirds", s.at, left)
		}
		if i == 0 {
			continue
		}
		last := states[i-1]
		if same, want := s.leaf.Equal(last.leaf), s.at.Before(last.until); same != want {
			t.Errorf("from %v to %v: got the same leaf %t, want %t", last.at, s.at, same, want)
		}
		if same, want := s.root.Equal(last.root), s.at.Before(last.rootTill); same != want {
			t.Errorf("from %v to %v: got the same CA %t, want %t", last.at, s.at, same, want)
		}
		if !s.root.Equal(last.root) && s.root.SerialNumber.Cmp(last.root.SerialNumber) == 0 {
			t.Errorf("%v: two certificates of the CA have one serial number", s.at)
		}
		for name, block := range s.printed {
			if strings.HasSuffix(name, ".key") && block != last.printed[name] {
				t.Errorf("from %v to %v: the key %s changes", last.at, s.at, name)
			}
		}
		// Old and new, while both are about.
		if s.at.Sub(last.at) > period {
			continue
		}
		if err := verify(last.leaf, s.root, s.at); err != nil {
			t.Errorf("%v: the old leaf under the new CA: %v", s.at, err)
		}
		if err := verify(s.leaf, last.root, s.at); err != nil {
			t.Errorf("%v: the new leaf under the old CA: %v", s.at, err)
		}
	}
}

func TestValidity(t *testing.T) {
	t.Parallel()
	o := certificateOptions(t)
	for name, c := range map[string]struct{ lifetime, period time.Duration }{
		"a day":       {day, 8 * time.Hour},
		"two days":    {2 * day, 16 * time.Hour},
		"three days":  {3 * day, day},
		"eight days":  {8 * day, 2 * day},
		"a year":      {365 * day, 121 * day},
		"a century":   {36500 * day, 12166 * day},
		"a bit more":  {3*day + time.Minute, day},
		"a bit less":  {3*day - time.Minute, day - 20*time.Second},
		"the longest": {1<<63 - 1, 35583 * day},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := newCertificates(t.Context(), o, o.stream).validity(c.lifetime)
			begin := got.from.Add(slack)
			if err != nil || got.next.Sub(begin) != c.period || got.to.Sub(begin) != c.lifetime || begin.After(o.Now) || !got.next.After(o.Now) {
				t.Errorf("got %v to %v until %v and %v, want a period of %s round %v", got.from, got.to, got.next, err, c.period, o.Now)
			}
			later := o
			later.Now = got.next
			next, err := newCertificates(t.Context(), later, later.stream).validity(c.lifetime)
			if err != nil || !next.from.Equal(got.next.Add(-slack)) {
				t.Errorf("got %v and %v, want the next period to begin where this one ends, %v", next.from, err, got.next)
			}
		})
	}
	for _, d := range []time.Duration{-1 << 63, -day, 0, time.Second, day - 1} {
		if got, err := newCertificates(t.Context(), o, o.stream).validity(d); err == nil {
			t.Errorf("%s: got %v, want an error", d, got)
		}
	}
	other := o
	other.Scope.App = "payments"
	a, _ := newCertificates(t.Context(), o, o.stream).validity(365 * day)
	b, _ := newCertificates(t.Context(), other, other.stream).validity(365 * day)
	if a.next.Equal(b.next) {
		t.Error("two applications roll at one moment")
	}
}

// TestLifetime reads the clock on two sides of a second.
func TestLifetime(t *testing.T) {
	t.Parallel()
	x := &x509.Certificate{NotBefore: time.Unix(100, 0), NotAfter: time.Unix(101, 0).Add(365 * day)}
	if got := lifetime(x); got != 365*day {
		t.Errorf("got %s, want 365 days", got)
	}
}

package policy

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"sync"
)

// A Source is a policy file that is read again when it changes. It looks when it
// is asked, so it needs no watcher, which mounts of Kubernetes lead astray: there a
// file is a link to a folder that is swapped.
type Source struct {
	file        string
	mayBeAbsent bool
	changed     func(err error)

	mu     sync.Mutex
	policy *Policy
	found  bool // a good file was read once
	last   look
	fault  error // of the last look
}

// look is what one look at the file found: its content, or why there is none.
type look struct {
	data   []byte
	reason string
}

// Watch reads a policy and returns its source. It fails where the file is not
// good; one that may be absent means None until it appears.
//
// changed is called for each change that a later look finds: with nil for good
// rules, and else with the reason why the rules stay as they were. It must not
// call the source. It may be nil.
func Watch(file string, mayBeAbsent bool, changed func(err error)) (*Source, error) {
	s := &Source{file: file, mayBeAbsent: mayBeAbsent, changed: changed, policy: None()}
	s.last.reason = "not looked at yet" // or else an empty file would be no change
	if s.read(); s.fault != nil {
		return nil, s.fault
	}
	return s, nil
}

// Current looks at the file and returns the rules that count: those of the file,
// or the last good ones where it is broken or gone.
//
// It compares the content, since neither the time nor the size of a file has to
// change with it; to read a few KiB takes microseconds. A file that is written in
// place is seen half-written, so replace it as Kubernetes does, by a rename.
func (s *Source) Current() *Policy {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.read() && s.changed != nil {
		s.changed(s.fault)
	}
	return s.policy
}

// Healthy reports whether the last look found good rules, or a file that may be
// absent and never was there.
func (s *Source) Healthy() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fault == nil
}

// read looks at the file and reports whether that differs from the last look.
func (s *Source) read() (differs bool) {
	data, err := readFile(s.file)
	now := look{data: data}
	if err != nil {
		now = look{reason: err.Error()}
	}
	if now.reason == s.last.reason && bytes.Equal(now.data, s.last.data) {
		return false
	}
	s.last = now
	if err != nil {
		s.fault = nil
		if s.found || !s.mayBeAbsent || !errors.Is(err, fs.ErrNotExist) {
			s.fault = fmt.Errorf("reading the policy: %w", err)
		}
		return true
	}
	p, err := Parse(s.file, data)
	if s.fault = err; err == nil {
		s.policy, s.found = p, true
	}
	return true
}

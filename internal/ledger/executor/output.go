package executor

import (
	"bytes"
	"crypto/sha256"
	"hash"
	"io"
	"sync"
	"time"
)

// An output passes on what a command writes, and hashes its standard output.
type output struct {
	digest hash.Hash
	log    *log
	pipes  []io.Closer
	ended  chan struct{} // closed when all is passed on
}

// pass passes on what comes from the two pipes.
func pass(stdout, stderr io.ReadCloser, to io.Writer) *output {
	o := &output{digest: sha256.New(), log: &log{w: to, given: make(chan struct{})}, pipes: []io.Closer{stdout, stderr}, ended: make(chan struct{})}
	var both sync.WaitGroup
	both.Go(func() { _, _ = io.Copy(io.MultiWriter(o.digest, o.log), stdout) })
	both.Go(func() { _, _ = io.Copy(o.log, stderr) })
	go func() {
		both.Wait()
		close(o.ended)
	}()
	return o
}

// finish passes on the rest of what a command has written that has ended, but does not
// wait long for a log that nobody reads. It reports whether others hold the pipes.
func (o *output) finish() (held bool) {
	if !o.within(settle) {
		close(o.log.given)
		if held = !o.within(settle); held {
			for _, pipe := range o.pipes {
				_ = pipe.Close()
			}
		}
	}
	<-o.ended
	for _, pipe := range o.pipes {
		_ = pipe.Close()
	}
	return held
}

func (o *output) within(d time.Duration) bool {
	select {
	case <-o.ended:
		return true
	case <-time.After(d):
		return false
	}
}

// A log takes all, and passes on what it can: a command does not fail because its log is
// gone.
type log struct {
	given chan struct{} // closed when it is given up
	mu    sync.Mutex
	w     io.Writer
}

func (l *log) Write(p []byte) (int, error) {
	if isClosed(l.given) {
		return len(p), nil
	}
	data := bytes.Clone(p) // which may still be written after this returned
	written := make(chan struct{})
	go func() {
		defer close(written)
		l.mu.Lock()
		defer l.mu.Unlock()
		_, _ = l.w.Write(data)
	}()
	select {
	case <-written:
	case <-l.given:
	}
	return len(p), nil
}

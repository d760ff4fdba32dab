package executor

import (
	"testing"
	"time"
)

// blocked is a log that takes nothing until it is closed.
type blocked chan struct{}

func (b blocked) Write(p []byte) (int, error) {
	<-b
	return len(p), nil
}

// A command that had ended before the executor was told to stop was not told: what its
// exit code says is so.
func TestToldTooLate(t *testing.T) {
	t.Parallel()
	log := make(blocked)
	p, err := start(&Options{Command: []string{"sh", "-c", "echo x"}, Env: []string{}, Output: log})
	if err != nil {
		t.Fatal(err)
	}
	for gone, start := false, time.Now(); !gone; time.Sleep(time.Millisecond) {
		if time.Since(start) > 2*time.Minute {
			t.Fatal("the command does not end")
		}
		p.mu.Lock()
		gone = p.gone
		p.mu.Unlock()
	}
	defer p.stop(time.Hour).Stop()
	close(log)
	<-p.ended
	if p.end.told || p.end.ExitCode != 0 || p.end.Left {
		t.Errorf("%+v", p.end)
	}
}

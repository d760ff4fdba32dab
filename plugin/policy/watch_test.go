package policy

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// mount is a folder as kubelet makes it for a ConfigMap: policy.yaml is a link to
// ..data/policy.yaml, and ..data a link to a folder that is replaced by a rename.
type mount struct {
	t   *testing.T
	dir string
	n   int
}

func (m *mount) file() string { return filepath.Join(m.dir, "policy.yaml") }

func (m *mount) put(text string) {
	m.t.Helper()
	m.n++
	version := "..version" + strings.Repeat("x", m.n)
	must(m.t, os.Mkdir(filepath.Join(m.dir, version), 0o755))
	must(m.t, os.WriteFile(filepath.Join(m.dir, version, "policy.yaml"), []byte(text), 0o644))
	must(m.t, os.Symlink(version, filepath.Join(m.dir, "..tmp")))
	must(m.t, os.Rename(filepath.Join(m.dir, "..tmp"), filepath.Join(m.dir, "..data")))
	if m.n == 1 {
		must(m.t, os.Symlink("..data/policy.yaml", m.file()))
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func named(name string) string { return head + "  - name: " + name + "\n" }

// watched is a source and what it reported.
type watched struct {
	*Source
	reports []string
}

func watch(t *testing.T, file string, mayBeAbsent bool) *watched {
	t.Helper()
	w := &watched{}
	s, err := Watch(file, mayBeAbsent, func(err error) {
		if err == nil {
			w.reports = append(w.reports, "good")
		} else {
			w.reports = append(w.reports, err.Error())
		}
	})
	must(t, err)
	w.Source = s
	return w
}

// expect looks twice, since a change is reported once.
func (w *watched) expect(t *testing.T, rule string, healthy bool, report string) {
	t.Helper()
	w.reports = nil
	for range 2 {
		if got := w.Current().For(Subject{}); got.Name != rule {
			t.Errorf("got %s, want %q", got, rule)
		}
		if w.Healthy() != healthy {
			t.Errorf("healthy is %v", !healthy)
		}
	}
	if report == "" && len(w.reports) > 0 || report != "" && (len(w.reports) != 1 || !strings.Contains(w.reports[0], report)) {
		t.Errorf("got the reports %q, want one with %q", w.reports, report)
	}
}

func TestSource(t *testing.T) {
	t.Parallel()
	m := &mount{t: t, dir: t.TempDir()}
	m.put(named("a"))
	w := watch(t, m.file(), false)
	w.expect(t, "a", true, "")
	m.put(named("b")) // of the same size, within one tick of the clock
	w.expect(t, "b", true, "good")
	m.put(named("b"))
	w.expect(t, "b", true, "")
	m.put("kind: [")
	w.expect(t, "b", false, "policy.yaml:2: ")
	m.put("kind: Other")
	w.expect(t, "b", false, `got "Other"`)
	m.put("")
	w.expect(t, "b", false, "the file is empty")
	m.put(named("b"))
	w.expect(t, "b", true, "good")
	must(t, os.Remove(filepath.Join(m.dir, "..data")))
	w.expect(t, "b", false, "reading the policy: open ")
	m.put(named("b"))
	w.expect(t, "b", true, "good")
	m.put(named("c"))
	w.expect(t, "c", true, "good")
}

func TestSourceThatMayBeAbsent(t *testing.T) {
	t.Parallel()
	m := &mount{t: t, dir: t.TempDir()}
	w := watch(t, m.file(), true)
	w.expect(t, "", true, "")
	if got := w.Current().For(Subject{}).String(); got != "no policy" {
		t.Errorf("got %s", got)
	}
	m.put("kind: Other")
	w.expect(t, "", false, `got "Other"`)
	must(t, os.Remove(m.file()))
	w.expect(t, "", true, "good")
	m.n = 0
	must(t, os.RemoveAll(filepath.Join(m.dir, "..versionx")))
	m.put(named("a"))
	w.expect(t, "a", true, "good")
	must(t, os.Remove(m.file()))
	w.expect(t, "a", false, "no such file")
}

func TestWatchRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty")
	must(t, os.WriteFile(empty, nil, 0o600))
	for _, test := range []struct {
		name, file, want string
		mayBeAbsent      bool
	}{
		{"absent", filepath.Join(dir, "absent"), "reading the policy: open ", false},
		{"empty", empty, "the file is empty", false},
		{"empty where it may be absent", empty, "the file is empty", true},
		{"a folder", dir, "is a directory", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if s, err := Watch(test.file, test.mayBeAbsent, nil); err == nil || s != nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, %v, want an error with %q", s, err, test.want)
			}
		})
	}
}

func TestSourceIsShared(t *testing.T) {
	t.Parallel()
	m := &mount{t: t, dir: t.TempDir()}
	m.put(named("a"))
	good := 0
	s, err := Watch(m.file(), false, func(err error) {
		if err == nil {
			good++ // calls do not overlap
		}
	})
	must(t, err)
	m.put(named("b"))
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 20 {
				if got := s.Current().For(Subject{}).Name; got != "b" || !s.Healthy() {
					t.Errorf("got %q", got)
				}
			}
		})
	}
	group.Wait()
	if good != 1 {
		t.Errorf("got %d reports, want 1", good)
	}
}

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSeedSource changes files of seeds as a kubelet does: the files are links into a
// folder behind a link, which is replaced by a rename.
func TestSeedSource(t *testing.T) {
	t.Parallel()
	const first, second, third = "gW6lM2Zk0b7yqJ1w5uXo9TQe4rVd8nCf", "Zm0vYt3hQe9KcWj5L1oXs7RbN8uDgPiA", "Kp3xQ9vTzB6nYw1LsR8cFhU5oGm2JeDa"
	dir, version := t.TempDir(), 0
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	put := func(seeds map[string]string) {
		t.Helper()
		version++
		folder := "..version" + strings.Repeat("x", version)
		must(os.Mkdir(filepath.Join(dir, folder), 0o700))
		for name, text := range seeds {
			must(os.WriteFile(filepath.Join(dir, folder, name), []byte(text), 0o600))
		}
		must(os.Symlink(folder, filepath.Join(dir, "..tmp")))
		must(os.Rename(filepath.Join(dir, "..tmp"), filepath.Join(dir, "..data")))
	}
	put(map[string]string{"new": first, "old": second})
	var files []string
	for _, name := range []string{"new", "old"} {
		must(os.Symlink("..data/"+name, filepath.Join(dir, name)))
		files = append(files, filepath.Join(dir, name))
	}
	var reports []string
	s, err := watchSeeds(files, func(err error) {
		text := "good"
		if err != nil {
			text = err.Error()
		}
		reports = append(reports, text)
	})
	must(err)
	initial := s.Current()
	if len(initial) != 2 || initial[0].ID != "new" || initial[1].ID != "old" {
		t.Fatalf("got %v", initial)
	}
	// Seeds are compared by what tells them apart in a cache.
	expect := func(what string, changed bool, healthy bool, report string) {
		t.Helper()
		before := s.seeds[0]
		reports = nil
		for range 2 { // a change is reported once
			if got := s.Current(); len(got) != 2 || (got[0] != before) != changed {
				t.Errorf("%s: changed is %t, want %t", what, got[0] != before, changed)
			}
			if s.Healthy() != healthy {
				t.Errorf("%s: healthy is %t", what, !healthy)
			}
		}
		if report == "" && len(reports) > 0 || report != "" && (len(reports) != 1 || !strings.Contains(reports[0], report)) {
			t.Errorf("%s: got the reports %q, want one with %q", what, reports, report)
		}
		for _, text := range reports {
			for _, secret := range []string{first, second, third} {
				if strings.Contains(text, secret) {
					t.Errorf("%s: the report holds a seed", what)
				}
			}
		}
	}
	expect("nothing", false, true, "")
	put(map[string]string{"new": third, "old": second})
	expect("another seed", true, true, "good")
	put(map[string]string{"new": "short", "old": second})
	expect("one that is too short", false, false, `seed "new": got 5 bytes`)
	put(map[string]string{"old": second})
	expect("one that is gone", false, false, "no such file or directory")
	put(map[string]string{"new": first, "old": second})
	expect("one that is back", true, true, "good")

	put(map[string]string{"old": second})
	if _, err := watchSeeds(files, func(error) {}); err == nil {
		t.Error("a server starts without a seed that was named")
	}
}

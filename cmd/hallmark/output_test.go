package main

import (
	"os"
	"path/filepath"
	"testing"
)

// A target that turns into a folder while the manifests are printed is beyond a
// script.
func TestStageRemovesWhatItCannotRename(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "out.json")
	commit, err := stage(file, []byte("{}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(file, 0o750); err != nil {
		t.Fatal(err)
	}
	want := `writing "` + file + `": file exists`
	if err := commit(true); err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 1 || entries[0].Name() != "out.json" {
		t.Errorf("left in the folder: %v", entries)
	}
}

package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// gitTopLevel returns the folder above dir that holds a git repository, or "".
func gitTopLevel(dir string) string {
	for {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return ""
		}
		dir = parent
	}
}

// gitRevision returns the commit of dir's work tree, with "-dirty" behind it if
// there are local changes, and "" where git cannot tell. Asking git itself keeps
// its rules for what is ignored; it is not part of a render.
func gitRevision(ctx context.Context, dir string) string {
	cmd := exec.CommandContext(ctx, "git", "-C", dir, "--no-optional-locks", "status", "--porcelain=v2", "--branch")
	out, err := cmd.Output()
	if err != nil {
		return ""
	}
	revision, dirty := "", false
	for line := range strings.Lines(string(out)) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "# branch.oid "):
			revision = strings.TrimPrefix(line, "# branch.oid ")
		case line != "" && !strings.HasPrefix(line, "#"):
			dirty = true
		}
	}
	if revision == "" || revision == "(initial)" {
		return ""
	}
	if dirty {
		revision += "-dirty"
	}
	return revision
}

// gitRemote returns the URL of origin, or "". It reads the file that git keeps
// it in: starting git once more would cost as much as a small render.
func gitRemote(top string) string {
	data, err := os.ReadFile(filepath.Join(top, ".git", "config"))
	if err != nil {
		return ""
	}
	inOrigin := false
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			inOrigin = line == `[remote "origin"]`
			continue
		}
		if key, value, ok := strings.Cut(line, "="); ok && inOrigin && strings.TrimSpace(key) == "url" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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

// gitRevision returns the commit of the work tree at top, with "-dirty" behind it
// if there are local changes, and "" where git cannot tell. Asking git itself
// keeps its rules for what is ignored; it is not part of a render.
//
// A repository's configuration can name programs that git starts. Rendering a
// folder that somebody else wrote must not run them, so the file system monitor
// and the hooks are off. Filters stay: without that of git-lfs each of its files
// would seem changed. The owner of the repository is git's own check.
func gitRevision(ctx context.Context, top string) string {
	cmd := exec.CommandContext(ctx, "git",
		"-c", "core.fsmonitor=false", "-c", "core.hooksPath="+os.DevNull,
		"-C", top, "--no-optional-locks", "status", "--porcelain=v2", "--branch")
	cmd.Env = gitEnvironment(os.Environ(), top)
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

// gitEnvironment is env without the variables by which git means another
// repository than the one at top; a hook that runs hallmark has them set. The
// rest stays, because it leads to the user's own configuration: which files are
// ignored, and which folders of other users count as safe.
func gitEnvironment(env []string, top string) []string {
	env = slices.DeleteFunc(slices.Clone(env), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		switch name {
		case "GIT_DIR", "GIT_COMMON_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY":
			return true
		}
		return false
	})
	return append(env,
		"GIT_CEILING_DIRECTORIES="+filepath.Dir(top), // no repository further up
		"GIT_NO_LAZY_FETCH=1")                        // no network, in a partial clone
}

// gitRemote returns the URL of origin for the work tree at top, or "". It reads
// the file that git keeps it in: starting git once more would cost as much as a
// small render.
func gitRemote(top string) string {
	data, err := readFile(filepath.Join(gitCommonDir(top), "config"), "git's configuration", maxGitFile)
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
			return strings.Trim(strings.TrimSpace(value), `"`)
		}
	}
	return ""
}

// gitCommonDir returns the folder with what all work trees of a repository share
// (gitrepository-layout(5)). In a submodule .git is a file that names the
// repository; in a further work tree the folder that it names has a file
// commondir that leads on.
func gitCommonDir(top string) string {
	dir := filepath.Join(top, ".git")
	if data, err := readFile(dir, "a link to a repository", maxGitFile); err == nil {
		target, found := bytes.CutPrefix(data, []byte("gitdir:"))
		if !found {
			return dir
		}
		dir = below(top, target)
	}
	if data, err := readFile(filepath.Join(dir, "commondir"), "a link to a repository", maxGitFile); err == nil {
		dir = below(dir, data)
	}
	return dir
}

// below resolves a path that git wrote into a file of dir.
func below(dir string, path []byte) string {
	target := string(bytes.TrimSpace(path))
	if filepath.IsAbs(target) {
		return target
	}
	return filepath.Join(dir, target)
}

package source

import (
	"cmp"
	"fmt"
	"math"
	"strings"
)

// Limits bound a tree. A field that is zero or negative takes its value from
// DefaultLimits.
type Limits struct {
	// Files is the largest number of paths: files, folders and links. For an
	// archive it counts the entries, and the folders that they imply; for a
	// View the distinct existing paths that were asked for or listed.
	Files int
	// FileBytes is the largest size of one file, in bytes.
	FileBytes int64
	// TreeBytes is the largest sum of file sizes, in bytes. For an archive it
	// counts every entry, also one that a later entry replaces; for a View the
	// distinct paths that were read, so that a file read through two links
	// counts twice.
	TreeBytes int64
}

// DefaultLimits are 50,000 paths, 32 MiB a file and 512 MiB a tree: room for a
// monorepo with vendored charts, and still within a sidecar's memory.
func DefaultLimits() Limits {
	return Limits{Files: 50_000, FileBytes: 32 << 20, TreeBytes: 512 << 20}
}

func (l Limits) orDefault() Limits {
	def := DefaultLimits()
	l.Files, l.FileBytes, l.TreeBytes = max(l.Files, 0), max(l.FileBytes, 0), max(l.TreeBytes, 0)
	l.Files = cmp.Or(l.Files, def.Files)
	// One below the top, so that "limit + 1" below cannot overflow.
	l.FileBytes = min(cmp.Or(l.FileBytes, def.FileBytes), math.MaxInt64-1)
	l.TreeBytes = min(cmp.Or(l.TreeBytes, def.TreeBytes), math.MaxInt64-1)
	return l
}

// The values of LimitError.Limit.
const (
	limitFiles     = "files"
	limitFileBytes = "fileBytes"
	limitTreeBytes = "treeBytes"
)

// LimitError says that a tree is larger than its Limits allow.
type LimitError struct {
	// Limit is the limit's name in the render policy: "files", "fileBytes" or
	// "treeBytes".
	Limit string
	// Value is what was found, at least: reading stops at the limit. Its unit
	// is that of Max, paths or bytes.
	Value, Max int64
	// Path is the file, folder or archive entry at which the limit was passed.
	Path string
}

func (e *LimitError) Error() string {
	switch e.Limit {
	case limitFiles:
		return fmt.Sprintf("%q is path number %d of the tree, more than limits.%s allows (%d)", e.Path, e.Value, e.Limit, e.Max)
	case limitFileBytes:
		return fmt.Sprintf("%q has %d bytes, more than limits.%s allows (%d)", e.Path, e.Value, e.Limit, e.Max)
	}
	return fmt.Sprintf("with %q the tree has %d bytes, more than limits.%s allows (%d)", e.Path, e.Value, e.Limit, e.Max)
}

// Hint says how to get past the limit, for the line that follows the error.
func (e *LimitError) Hint() string {
	hint := fmt.Sprintf("raise limits.%s (--limit %s=N on the command line, the policy in the plugin)", e.Limit, e.Limit)
	if isGit(e.Path) {
		hint = "keep .git out of what repo-server sends to plugins: set reposerver.plugin.tar.exclusions " +
			"to .git in argocd-cmd-params-cm; or " + hint
	}
	return hint
}

// EscapeError says that a path leads out of the repository.
type EscapeError struct {
	// Path is the symlink that leaves, or with an empty Target the entry of an
	// archive whose own name does.
	Path string
	// Target is what the link points to. An absolute target that begins with
	// the root's own path is given relative to the link.
	Target string
}

func (e *EscapeError) Error() string {
	if e.Target == "" {
		return fmt.Sprintf("archive entry %q leaves the repository root", e.Path)
	}
	return fmt.Sprintf("symlink %q leaves the repository root: it points to %q", e.Path, e.Target)
}

// isGit reports whether p has an element ".git", which no tree contains.
func isGit(p string) bool {
	return strings.Contains(p, ".git") && strings.Contains("/"+p+"/", "/.git/")
}

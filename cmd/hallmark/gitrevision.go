package main

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"

	"hallmark.dev/hallmark/internal/diag"
)

// named is what git has under a name.
type named struct {
	id   string
	kind string // "commit", "tag", "tree" or "blob"; "missing" or "ambiguous" without an id
}

// look tells what names stand for (gitrevisions(7)).
func (g *gitObjects) look(names ...string) ([]named, error) {
	// On standard input no name is an option, or a range.
	cmd := g.command("cat-file", "--batch-check=%(objectname) %(objecttype)")
	cmd.Stdin = strings.NewReader(strings.Join(names, "\n") + "\n")
	out, err := cmd.Output()
	if err != nil {
		return nil, gitFault(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if len(lines) != len(names) {
		return nil, fmt.Errorf("git answered %q, want one line for each of %q", out, names)
	}
	found := make([]named, len(names))
	for i, line := range lines {
		at := strings.LastIndexByte(line, ' ')
		found[i] = named{line[:max(at, 0)], line[at+1:]}
	}
	return found, nil
}

// commit is the commit that a revision names. The error names the revision.
func (g *gitObjects) commit(revision string) (string, error) {
	if revision == "" {
		return "", errors.New("the revision is empty, want a branch, a tag or a commit")
	}
	fault := func(format string, args ...any) error {
		return fmt.Errorf("the revision %q "+format, append([]any{revision}, args...)...)
	}
	if strings.ContainsAny(revision, "\n\x00") { // the end of a question to git
		return "", fault("does not exist in this repository")
	}
	// Where several ids begin so, the second finds the one that is of a commit.
	found, err := g.look(revision, revision+"^{commit}", revision+"^{}")
	if err != nil {
		return "", fault("cannot be looked up: %w", err)
	}
	plain, commit, behind := found[0], found[1], found[2]
	wanted := "a branch, a tag or the id of a commit is wanted"
	switch {
	case plain.kind == "commit":
		return plain.id, nil
	case commit.kind == "commit":
		return commit.id, nil
	case plain.kind == "ambiguous":
		return "", diag.WithHint(fault("is ambiguous: the ids of several objects begin so"), "give more digits of the id")
	case plain.kind == "tag":
		return "", diag.WithHint(fault("is a tag on a %s, and not on a commit", behind.kind), wanted)
	case plain.kind == "tree":
		return "", diag.WithHint(fault("is a tree (a folder), and not a commit"), wanted)
	case plain.kind == "blob":
		return "", diag.WithHint(fault("is a blob (a file), and not a commit"), wanted)
	case strings.Contains(revision, "..") && !strings.ContainsAny(revision, ":/") || strings.HasPrefix(revision, "^"):
		return "", diag.WithHint(fault("is a range, and not one commit"), "give each end of it by its own")
	}
	return "", diag.WithHint(fault("does not exist in this repository"), g.howToFetch(revision))
}

var (
	hexadecimal = regexp.MustCompile(`^[0-9A-Fa-f]{7,}$`)
	plainName   = regexp.MustCompile(`^[0-9A-Za-z_][0-9A-Za-z_./-]*$`)
)

// wholeID reports whether a revision has the form of a whole id, in SHA-1 or SHA-256.
func wholeID(revision string) bool {
	return (len(revision) == 40 || len(revision) == 64) && hexadecimal.MatchString(revision)
}

// howToFetch is how a revision comes into the clone.
func (g *gitObjects) howToFetch(revision string) string {
	out, err := g.command("rev-parse", "--is-shallow-repository").Output()
	shallow := err == nil && strings.TrimSpace(string(out)) == "true"
	all := "git fetch --tags"
	if shallow {
		all = "this clone is shallow: git fetch --unshallow --tags"
	}
	branch, remote := strings.CutPrefix(revision, "origin/")
	switch refs, err := g.references(); {
	case err == nil && refs.tracked[revision] != "":
		return fmt.Sprintf("it is here as %q", refs.tracked[revision])
	case wholeID(revision):
		return all + ", or of this commit alone: git fetch origin " + revision
	case hexadecimal.MatchString(revision) || !plainName.MatchString(revision):
		return all
	case remote:
		return fmt.Sprintf("fetch it first (git fetch origin %s:refs/remotes/origin/%[1]s); in CI a checkout often has one commit and no branches", branch)
	}
	return fmt.Sprintf("fetch it first (a branch: git fetch origin %s:%[1]s; a tag: git fetch origin tag %[1]s); in CI a checkout often has one commit and no branches", revision)
}

// references are the names that the clone has.
type references struct {
	tags     []string          // without refs/tags/, sorted
	branches map[string]bool   // without refs/heads/
	tracked  map[string]string // of remotes, without their names; with it
}

// references lists them, once.
func (g *gitObjects) references() (*references, error) {
	g.refsOnce.Do(func() {
		// Names only: in a partial clone an object behind a tag need not be here.
		out, err := g.command("for-each-ref", "--format=%(refname)", "refs/tags", "refs/heads", "refs/remotes").Output()
		if err != nil {
			g.refsErr = gitFault(err)
			return
		}
		g.refs = &references{branches: map[string]bool{}, tracked: map[string]string{}}
		for line := range strings.Lines(string(out)) {
			name := strings.TrimSuffix(line, "\n")
			if tag, ok := strings.CutPrefix(name, "refs/tags/"); ok {
				g.refs.tags = append(g.refs.tags, tag)
			} else if branch, ok := strings.CutPrefix(name, "refs/heads/"); ok {
				g.refs.branches[branch] = true
			} else if both, ok := strings.CutPrefix(name, "refs/remotes/"); ok {
				_, branch, _ := strings.Cut(both, "/")
				if g.refs.tracked[branch] == "" || strings.HasPrefix(both, "origin/") {
					g.refs.tracked[branch] = both
				}
			}
		}
	})
	return g.refs, g.refsErr
}

// branch reports whether there is a branch of the name.
func (r *references) branch(name string) bool { return r.branches[name] || r.tracked[name] != "" }

// tag returns the tag that Argo CD takes for a targetRevision, or "": the highest
// version of a range of versions, else the one of the name. ranged says that it is a
// range (lsRemote and resolveSemverRevision in Argo CD's util/git/client.go).
func (r *references) tag(revision string) (tag string, ranged bool) {
	if _, err := semver.NewVersion(revision); err != nil {
		if constraint, err := semver.NewConstraint(revision); err == nil {
			ranged = true
			highest := semver.New(0, 0, 0, "", "") // of which Argo CD wants more
			for _, name := range r.tags {
				if v, err := semver.NewVersion(name); err == nil && constraint.Check(v) && v.GreaterThan(highest) {
					tag, highest = name, v
				}
			}
			if tag != "" {
				return tag, true
			}
		}
	}
	for _, prefix := range []string{"", "refs/tags/", "tags/"} {
		if name, ok := strings.CutPrefix(revision, prefix); ok && slices.Contains(r.tags, name) {
			return name, ranged
		}
	}
	return "", ranged
}

// pinned is what an Application's targetRevision means here: the commit of a tag, of
// a range of versions or of an id, which does not move, or "" for a branch. The note
// says what is not certain about that. An error, which names the revision, says that
// it does not move and what it names is not here.
//
// It goes by Argo CD's rules, which are not all of git's: "main~1" is nothing to it.
func (g *gitObjects) pinned(revision string) (commit, note string, err error) {
	if revision == "" || revision == "HEAD" {
		return "", "", nil
	}
	if wholeID(revision) {
		commit, err = g.commit(revision)
		return commit, "", err
	}
	refs, err := g.references()
	if err != nil {
		if hexadecimal.MatchString(revision) {
			return "", "", fmt.Errorf("the revision %q cannot be looked up: %w", revision, err)
		}
		return "", fmt.Sprintf("targetRevision %q is taken for a branch, because the tags cannot be listed: %v", revision, err), nil
	}
	tag, ranged := refs.tag(revision)
	head, isHead := strings.CutPrefix(revision, "refs/heads/")
	switch {
	case tag != "":
		switch {
		case tag == revision && refs.branch(tag):
			note = fmt.Sprintf("targetRevision %q is a tag and a branch; the tag is taken", revision)
		case strings.HasPrefix(revision, "tags/") && tag != revision:
			note = fmt.Sprintf("targetRevision %q is taken for the tag %q, but Argo CD does not know it by that name", revision, tag)
		}
		commit, err = g.commit("refs/tags/" + tag)
		return commit, note, err
	case refs.branch(revision), isHead && refs.branch(head):
		return "", "", nil
	case hexadecimal.MatchString(revision):
		commit, err = g.commit(revision)
		return commit, "", err
	case ranged:
		return "", "", diag.WithHint(fmt.Errorf("the revision %q is a range of versions, and no tag of this clone is in it", revision), "git fetch --tags")
	}
	return "", fmt.Sprintf("targetRevision %q is no tag, branch or commit of this clone; it is taken for a branch (git fetch --tags brings the tags)", revision), nil
}

package compare

import (
	"io/fs"
	"maps"
	"path"
	"slices"

	"hallmark.dev/hallmark/internal/redact"
	"hallmark.dev/hallmark/plugin/application"
)

// guess adds the address by which the applications call this repository, where none
// of them calls it by one that is known: in a fork, in a mirror and in a copy without
// git they do not. It is the address with the most sources of which at least half
// have their folder here. It reports whether it added one.
func (f *Fleet) guess(from, to []application.Application) bool {
	type score struct{ here, all int }
	scores := map[string]*score{}
	for _, side := range []struct {
		c    *Checkout
		apps []application.Application
	}{{f.From, from}, {f.To, to}} {
		view := side.c.Tree.View()
		for _, a := range side.apps {
			for i := range a.Sources {
				s := &a.Sources[i]
				if side.c.isHere(s.RepoURL) {
					return false
				}
				if s.Chart != "" || s.Path == "" || side.c.other(s.RepoURL) != nil {
					continue
				}
				known := scores[s.RepoURL]
				if known == nil {
					known = &score{}
					scores[s.RepoURL] = known
				}
				known.all++
				if info, err := fs.Stat(view, path.Clean(s.Path)); err == nil && info.IsDir() {
					known.here++
				}
			}
		}
	}
	best := ""
	for _, url := range slices.Sorted(maps.Keys(scores)) {
		if s := scores[url]; 2*s.here >= s.all && s.here > 0 && (best == "" || s.here > scores[best].here) {
			best = url
		}
	}
	if best == "" {
		return false
	}
	f.From.URLs, f.To.URLs = append(f.From.URLs, best), append(f.To.URLs, best)
	f.guessed = redact.URL(best)
	return true
}

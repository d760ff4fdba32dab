package lint

import (
	"maps"
	"slices"

	"hallmark.dev/hallmark/internal/diag"
)

// Checks are the health checks of an argocd-cm, to be found as Argo CD finds them.
type Checks struct{ settings settings }

// Check is the health check of a kind.
type Check struct {
	Key      string // "group/Kind", or a wildcard that matches it
	Script   string
	OpenLibs bool
	// Others are further wildcards that match. Which of them Argo CD takes is
	// random; here it is the first in the order of the alphabet.
	Others []string
}

// Open reads the health checks of a file that [ConfigMap] takes. One that Argo CD
// refuses is an error, because it then has none at all.
func Open(file string, data []byte) (*Checks, error) {
	sources, err := sourcesOf(file, data)
	if err != nil {
		return nil, err
	}
	all := settings{}
	var faults diag.List
	for _, s := range sources {
		for _, check := range s.checks {
			all[overrideKey(check.group, check.kind)] = &override{script: check.text.value}
		}
		if s.checks != nil {
			continue
		}
		values := map[string]string{}
		for key, t := range s.data {
			values[key] = t.value
		}
		read, refused := readSettings(values)
		for _, r := range refused {
			faults.Addf(file, s.data[r.key].keyLine, 0, "%s: Argo CD refuses the whole ConfigMap: %s", r.key, oneLine(r.err))
		}
		maps.Copy(all, read)
	}
	return &Checks{all}, faults.Err()
}

// For finds the health check of a kind; false where there is none and Argo CD would take
// one of its own.
func (c *Checks) For(group, kind string) (Check, bool) {
	name := overrideKey(group, kind)
	if o := c.settings[name]; o != nil && o.script != "" {
		return Check{Key: name, Script: o.script, OpenLibs: o.useOpenLibs}, true
	}
	var found []Check
	for _, key := range slices.Sorted(maps.Keys(c.settings)) {
		o := c.settings[key]
		if p, err := newPattern(key); o.script != "" && err == nil && p.match(name) {
			found = append(found, Check{Key: key, Script: o.script, OpenLibs: o.useOpenLibs})
		}
	}
	if len(found) == 0 {
		return Check{}, false
	}
	for _, other := range found[1:] {
		found[0].Others = append(found[0].Others, other.Key)
	}
	return found[0], true
}

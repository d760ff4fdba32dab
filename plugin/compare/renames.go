package compare

import (
	"cmp"
	"slices"
	"strings"
)

// renames are the objects of one application whose names changed.
type renames struct {
	list  []rename
	byOld map[string][]rename
}

type rename struct{ kind, namespace, old, new string }

func newRenames(pairs []pair) renames {
	r := renames{byOld: map[string][]rename{}}
	for _, p := range pairs {
		if p.change == Renamed {
			id := p.to.placed()
			r.list = append(r.list, rename{kind: id.Kind, namespace: id.Namespace, old: p.from.ID().Name, new: id.Name})
		}
	}
	slices.SortFunc(r.list, func(a, b rename) int {
		return cmp.Or(strings.Compare(a.kind, b.kind), strings.Compare(a.namespace, b.namespace), strings.Compare(a.new, b.new), strings.Compare(a.old, b.old))
	})
	for _, n := range r.list {
		r.byOld[n.old] = append(r.byOld[n.old], n)
	}
	return r
}

func (n rename) String() string {
	if n.namespace == "" {
		return n.kind + " " + n.new
	}
	return n.kind + " " + n.namespace + "/" + n.new
}

// follows returns the object whose old name turned into its new one makes b out of a,
// or "". A name may be the whole value, or a word of it as in a host name.
func (r renames) follows(path []step, a, b any) string {
	from, isText := a.(string)
	to, isTextToo := b.(string)
	if len(r.list) == 0 || !isText || !isTextToo || from == to {
		return ""
	}
	var candidates []rename
	for _, n := range r.byOld[from] {
		if n.new == to {
			candidates = append(candidates, n)
		}
	}
	const (
		longest = 4 << 10 // bytes of a value that is searched for names
		most    = 100     // names to search for
	)
	if len(candidates) == 0 && len(from) <= longest {
		for _, n := range r.list[:min(len(r.list), most)] {
			if strings.Contains(from, n.old) && replaceWord(from, n.old, n.new) == to {
				candidates = append(candidates, n)
			}
		}
	}
	if len(candidates) == 0 {
		return ""
	}
	// Several kinds may have had the name: the field says which is meant.
	best := slices.MaxFunc(candidates, func(a, b rename) int {
		return cmp.Or(cmp.Compare(meant(path, a.kind), meant(path, b.kind)), -strings.Compare(a.String(), b.String()))
	})
	return best.String()
}

// meant says how surely the last keys of a path speak of a kind: as configMapKeyRef
// does of ConfigMap, and serviceAccountName of ServiceAccount more than of Service.
func meant(path []step, kind string) int {
	const nearby = 4
	kind = strings.ToLower(kind)
	for _, s := range path[max(0, len(path)-nearby):] {
		if key := strings.ToLower(s.key); strings.Contains(key, kind) || kind == "persistentvolumeclaim" && key == "claimname" {
			return len(kind)
		}
	}
	return 0
}

// replaceWord replaces old by what it became, where it is not part of a longer name.
func replaceWord(s, old, by string) string {
	var b strings.Builder
	done := 0
	for at := 0; old != "" && at+len(old) <= len(s); {
		end := at + len(old)
		if s[at:end] != old || at > 0 && inName(s[at-1]) || end < len(s) && inName(s[end]) {
			at++
			continue
		}
		b.WriteString(s[done:at])
		b.WriteString(by)
		done, at = end, end
	}
	b.WriteString(s[done:])
	return b.String()
}

func inName(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_'
}

// translate replaces names in from by what they became, where that name is in to and
// the old one is not.
func (r renames) translate(from, to []string) {
	if len(r.list) == 0 {
		return
	}
	taken, there := make(map[string]bool, len(from)), make(map[string]bool, len(to))
	for _, name := range from {
		taken[name] = true
	}
	for _, name := range to {
		there[name] = true
	}
	for i, name := range from {
		if there[name] {
			continue
		}
		for _, n := range r.byOld[name] {
			if there[n.new] && !taken[n.new] {
				from[i], taken[n.new] = n.new, true
				break
			}
		}
	}
}

package policy

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/internal/fields"
	"hallmark.dev/hallmark/plugin/rules"
	"hallmark.dev/hallmark/plugin/rules/admission"
)

// Level says what becomes of a finding.
type Level string

// The levels. The two that report something are [Warn] and [Deny].
const (
	LevelOff  Level = "off"
	LevelWarn Level = Warn
	LevelDeny Level = Deny
)

// Lint says which release rules are checked, and what becomes of their findings.
// A nil *Lint is that of a review without a policy: every rule warns.
type Lint struct {
	// Default is the level of the rules that Levels does not name.
	Default Level
	// Levels are those of single rules, by id or by the name of a team's rule.
	Levels map[string]Level
	// Waivers says whether objects may waive a rule by an annotation.
	Waivers bool
	// HealthChecks are the custom resources whose health Argo CD is taught
	// elsewhere.
	HealthChecks []HealthCheck
	// Team are the team's own rules, in the order of the policy.
	Team []rules.TeamRule
}

// HealthCheck names kinds of one API group.
type HealthCheck struct {
	Group string
	Kinds []string
}

// Level is that of a rule, by its id or name.
func (l *Lint) Level(rule string) Level {
	if l == nil {
		return LevelWarn
	}
	if level, named := l.Levels[rule]; named {
		return level
	}
	return l.Default
}

// Of is the level of a finding: that of its rule, but advice ([rules.Info]) is
// denied only where the policy names its rule.
func (l *Lint) Of(f rules.Finding) Level {
	level := l.Level(f.Rule)
	if level == LevelDeny && f.Severity == rules.Info && l.Levels[f.Rule] != LevelDeny {
		return LevelWarn
	}
	return level
}

// TakesWaivers reports whether objects may waive a rule.
func (l *Lint) TakesWaivers() bool { return l == nil || l.Waivers }

// HealthChecked reports whether the policy says that Argo CD can tell the health of
// a kind.
func (l *Lint) HealthChecked(group, kind string) bool {
	return l != nil && slices.ContainsFunc(l.HealthChecks, func(c HealthCheck) bool {
		return c.Group == group && slices.Contains(c.Kinds, kind)
	})
}

// maxTeam bounds the rules of a team in one section.
const maxTeam = 100

func (r reader) lint(f fields.Field) *Lint {
	m := f.Mapping("default", "rules", "waivers", "healthChecks", "policies")
	if m == nil {
		return nil
	}
	out := &Lint{Default: LevelWarn, Waivers: true}
	if level, found := m["default"]; found {
		out.Default = readLevel(level)
	}
	if waivers, found := m["waivers"]; found {
		out.Waivers = waivers.Flag()
	}
	if checks, found := m["healthChecks"]; found {
		out.HealthChecks = readHealthChecks(checks)
	}
	if policies, found := m["policies"]; found {
		out.Team = r.team(policies)
	}
	if levels, found := m["rules"]; found {
		out.Levels = readLevels(levels, out.Team)
	}
	return out
}

// readLevel reads a level. YAML takes off for false.
func readLevel(f fields.Field) Level {
	if off, isFlag := f.Value().(bool); isFlag && !off {
		return LevelOff
	}
	if _, isText := f.Value().(string); !isText {
		f.Faultf("got %s, want one of off, warn, deny", fields.KindOf(f.Value()))
		return LevelWarn
	}
	return Level(f.OneOf(string(LevelOff), string(LevelWarn), string(LevelDeny)))
}

func readLevels(f fields.Field, team []rules.TeamRule) map[string]Level {
	var known []string
	for _, rule := range rules.All() {
		known = append(known, rule.ID)
	}
	for _, rule := range team {
		known = append(known, rule.Name())
	}
	given, ok := f.Value().(map[string]any)
	if !ok {
		f.Faultf("got %s, want a mapping of rules to levels", fields.KindOf(f.Value()))
		return nil
	}
	// All that are there are asked for, so that a fault stands at its own key.
	levels := map[string]Level{}
	names := slices.Sorted(maps.Keys(given))
	for name, level := range f.Mapping(names...) {
		if slices.Contains(known, name) {
			levels[name] = readLevel(level)
			continue
		}
		hint := ""
		if near := nearest(name, known); near != "" {
			hint = fmt.Sprintf("; did you mean %s?", near)
		}
		level.Faultf("there is no rule %q%s", name, hint)
		level.Remedy("`hallmark lint --explain` lists the rules; a team's own stand in policies")
	}
	return levels
}

func readHealthChecks(f fields.Field) (out []HealthCheck) {
	for _, item := range f.List() {
		m := item.Mapping("group", "kinds")
		if m == nil {
			continue
		}
		var next HealthCheck
		if group, found := m["group"]; !found {
			item.Faultf("group: missing, want the API group of the kinds")
		} else {
			next.Group, _ = group.Text()
		}
		if kinds, found := m["kinds"]; found {
			for _, kind := range kinds.List() {
				if name, ok := kind.Text(); ok {
					next.Kinds = append(next.Kinds, name)
				}
			}
		}
		if len(next.Kinds) == 0 {
			item.Faultf("kinds: missing, want at least one")
		}
		out = append(out, next)
	}
	return out
}

// team reads the rules of a team. Their names have to differ from each other and
// from those of the built-in rules, since a waiver knows no more than the name.
func (r reader) team(f fields.Field) (out []rules.TeamRule) {
	list := f.List()
	if len(list) > maxTeam {
		f.Faultf("got %d rules, want at most %d", len(list), maxTeam)
		return nil
	}
	reads := admission.NewReader(r.Reader)
	lines := map[string]int{}
	for _, item := range list {
		rule := reads.Rule(item)
		if rule == nil {
			continue
		}
		name := rule.Name()
		if line, taken := lines[name]; taken {
			item.Faultf("the name %q is taken by the rule in line %d", name, line)
		} else if _, builtIn := rules.Find(name); builtIn {
			item.Faultf("the name %q is that of a built-in rule", name)
		} else if name != "" {
			lines[name], _ = item.Position()
		}
		out = append(out, rule)
	}
	return out
}

// nearest returns the name that differs from the given one in at most two
// characters, or has all its words, or "".
func nearest(name string, known []string) string {
	best, bestDistance := "", 3
	for _, k := range known {
		if d := diag.Distance(k, name); d < bestDistance {
			best, bestDistance = k, d
		}
	}
	if best != "" {
		return best
	}
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return r == '-' || r == '_' || r == '.' })
	for _, k := range known {
		has := strings.Split(k, "-")
		if len(words) > 0 && !slices.ContainsFunc(words, func(w string) bool { return !slices.Contains(has, w) }) {
			return k
		}
	}
	return ""
}

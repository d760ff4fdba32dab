package lint

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/internal/object"
)

// ConfigMap lints an argocd-cm and each health script in it. The file is YAML: a
// ConfigMap, alone or among others; the data of one; values of the argo-cd Helm chart
// (configs.cm, at the top or below the name of a subchart); an ArgoCD resource of the
// operator (spec.resourceHealthChecks). Group, Kind and OpenLibs of opts do not
// count; an object is tried on the check that is for its kind.
//
// The error is that of a file that is none of these.
func ConfigMap(file string, data []byte, opts Options) ([]Finding, error) {
	sources, err := sourcesOf(file, data)
	if err != nil {
		return nil, err
	}
	var findings []Finding
	for _, s := range sources {
		c := &configMap{file: file, source: s, opts: opts}
		c.lint()
		findings = append(findings, c.findings...)
	}
	return sorted(findings), nil
}

// IsConfigMap tells whether a file is one that ConfigMap takes, by its name.
func IsConfigMap(file string) bool {
	return strings.HasSuffix(file, ".yaml") || strings.HasSuffix(file, ".yml") || strings.HasSuffix(file, ".json")
}

type configMap struct {
	file     string
	source   *source
	opts     Options
	settings settings
	findings []Finding
}

func (c *configMap) report(key string, line int, rule Rule, severity Severity, hint, format string, args ...any) {
	c.findings = append(c.findings, Finding{
		File: c.file, Line: line, Key: key, Rule: rule, Severity: severity, Message: fmt.Sprintf(format, args...), Hint: hint,
	})
}

func (c *configMap) lint() {
	if c.source.checks != nil {
		for _, check := range c.source.checks {
			c.script(check.key, overrideKey(check.group, check.kind), check.text.value, false, check.text.line)
		}
		return
	}
	c.names()
	data := map[string]string{}
	for key, t := range c.source.data {
		data[key] = t.value
	}
	var refused []refusal
	c.settings, refused = readSettings(data)
	for _, r := range refused {
		c.refused(r)
	}
	c.ignored()
	c.wildcards()
	for _, key := range slices.Sorted(maps.Keys(c.settings)) {
		o := c.settings[key]
		if o.inYAML && o.inSplitKey {
			c.report(o.health, c.line(o.health), TwoPlaces, Warning, "keep one of them",
				"%s has a health script in %s too, which is not used", key, customizationsKey)
		}
		if o.script == "" {
			continue
		}
		line := func(n int) int { return c.source.data[o.health].line(n) }
		if o.health == customizationsKey {
			line = c.inner(key, "health.lua")
		}
		c.script(o.health, key, o.script, o.useOpenLibs, line)
	}
}

// script lints one script. line is the line of the file for one of the script.
func (c *configMap) script(key, target, script string, openLibs bool, line func(int) int) {
	opts := c.opts
	opts.OpenLibs = openLibs
	opts.Group, opts.Kind = splitKey(target)
	opts.Objects = nil
	matches := func(string) bool { return false }
	if p, err := newPattern(target); err == nil {
		matches = p.match
	}
	for _, o := range c.opts.Objects {
		group, kind := GroupKind(o.Value)
		if name := overrideKey(group, kind); name == target || matches(name) && !c.exact(name) {
			opts.Objects = append(opts.Objects, o)
		}
	}
	if isWildcard(target) {
		opts.Group, opts.Kind = "example.com", "Example"
	}
	for _, f := range Script(c.file, script, opts) {
		f.Key = key
		if key == customizationsKey {
			f.Key += ": " + target
		}
		f.Line = line(f.Line)
		c.findings = append(c.findings, f)
	}
}

// exact tells whether a kind has a health script of its own, which wins against a
// wildcard.
func (c *configMap) exact(name string) bool {
	o := c.settings[name]
	return o != nil && o.script != ""
}

// GroupKind returns the group and kind of an object.
func GroupKind(value map[string]any) (group, kind string) {
	id := object.Object{Value: value}.ID()
	return id.Group, id.Kind
}

func (c *configMap) line(key string) int { return c.source.data[key].keyLine }

// keyPattern is what the API server takes as the name of a key, of at most 253
// characters.
var keyPattern = regexp.MustCompile(`^[-._a-zA-Z0-9]{1,253}$`)

// names looks at what the API server refuses.
func (c *configMap) names() {
	for _, key := range slices.Sorted(maps.Keys(c.source.data)) {
		t := c.source.data[key]
		ours := strings.HasPrefix(key, "resource.")
		switch {
		case ours && isWildcard(key):
			c.report(key, t.keyLine, WildcardSplitKey, Error, "write the wildcard, quoted, as a key of the YAML under "+customizationsKey,
				"a wildcard cannot stand in the name of a key: the API server takes letters, digits, -, _ and . only")
		case ours && !keyPattern.MatchString(key):
			c.report(key, t.keyLine, Refused, Error, "", "no name of a key: the API server takes at most 253 letters, digits, -, _ and .")
		}
		if t.got != "" && !c.source.convertsValues {
			c.report(key, t.keyLine, NotText, Error, "quote the value", "the value is %s, and a ConfigMap takes texts only", t.got)
		}
	}
}

// refused explains what Argo CD stops at.
func (c *configMap) refused(r refusal) {
	t := c.source.data[r.key]
	if r.key != customizationsKey {
		c.report(r.key, t.keyLine, Refused, Error, "", "%s", oneLine(r.err))
		return
	}
	if line, text := unquotedWildcard(t.value); line > 0 {
		c.report(r.key, t.line(line), UnquotedWildcard, Error, fmt.Sprintf("write %q", text), "%s is an alias in YAML", text)
		return
	}
	line := t.keyLine
	err := r.err
	if at := syntaxError(t.value); at != nil && at.Line > 0 {
		line, err = t.line(at.Line), &diag.Error{Msg: at.Msg}
	}
	c.report(r.key, line, Refused, Error, "", "%s", oneLine(err))
}

func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

// bareKey is a key of the outermost mapping that begins with an unquoted *.
var bareKey = regexp.MustCompile(`(?m)^(\*[^\s:]*)\s*:(\s|$)`)

func unquotedWildcard(text string) (line int, key string) {
	at := bareKey.FindStringSubmatchIndex(text)
	if at == nil {
		return 0, ""
	}
	return strings.Count(text[:at[2]], "\n") + 1, text[at[2]:at[3]]
}

// ignored looks at what Argo CD reads as nothing.
func (c *configMap) ignored() {
	for _, key := range slices.Sorted(maps.Keys(c.source.data)) {
		t := c.source.data[key]
		rest, ours := strings.CutPrefix(key, customizationsKey+".")
		parts := strings.SplitN(rest, ".", 2)
		switch {
		case ours && len(parts) < 2:
			c.report(key, t.keyLine, Ignored, Warning, "", "a key of customizations without a group and kind says nothing")
		case ours && strings.HasPrefix(parts[1], "_"):
			c.report(key, t.keyLine, Ignored, Warning, "write the kind alone", "the core group has no name and no _ in front of the kind, so this matches nothing")
		case ours && strings.HasSuffix(parts[1], "_"):
			c.report(key, t.keyLine, Ignored, Warning, "", "there is no kind behind the _, so this matches nothing")
		case !ours && key != customizationsKey && nearMiss(key):
			c.report(key, t.keyLine, Ignored, Warning, "", "Argo CD knows no such key; customizations are under %s", customizationsKey)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(c.settings)) {
		o := c.settings[key]
		if o.script == "" && o.health != "" && o.health != customizationsKey {
			c.report(o.health, c.line(o.health), Ignored, Warning, "", "the script is empty, so another check for %s is used", key)
		}
		if o.script == "" && o.useOpenLibs {
			c.report(o.openLibs, c.line(o.openLibs), Ignored, Warning, "", "useOpenLibs without a health script for %s says nothing", key)
		}
	}
	c.unknownFields()
}

// nearMiss is a key that somebody meant as one of customizations.
func nearMiss(key string) bool {
	lower := strings.ToLower(key)
	return strings.HasPrefix(lower, "resource.customi") || strings.HasPrefix(lower, "resources.customi") || strings.HasPrefix(lower, "resource.health")
}

// unknownFields looks for fields of resource.customizations that Argo CD does not
// read.
func (c *configMap) unknownFields() {
	var overrides map[string]map[string]any
	t := c.source.data[customizationsKey]
	if t.value == "" || decode(t.value, &overrides) != nil {
		return
	}
	fields := []string{"health.lua", "health.lua.useOpenLibs", "actions", "ignoreDifferences", "ignoreResourceUpdates", "knownTypeFields"}
	for _, key := range slices.Sorted(maps.Keys(overrides)) {
		for _, field := range slices.Sorted(maps.Keys(overrides[key])) {
			if !slices.ContainsFunc(fields, func(f string) bool { return strings.EqualFold(f, field) }) {
				c.report(customizationsKey, c.inner(key, field)(0), Ignored, Warning, "the fields are "+strings.Join(fields, ", "),
					"%s: Argo CD knows no field %q", key, field)
			}
		}
	}
}

// wildcards looks at the keys that match more than one kind.
func (c *configMap) wildcards() {
	// A kind with a script of its own is no matter of wildcards.
	known := slices.DeleteFunc(known(), c.exact)
	var patterns []string
	for _, key := range slices.Sorted(maps.Keys(c.settings)) {
		o := c.settings[key]
		if o.script == "" || !isWildcard(key) {
			continue
		}
		compiled, err := newPattern(key)
		if err != nil {
			c.report(o.health, c.place(key), BadPattern, Error, "", "%s is no pattern: %v", key, err)
			continue
		}
		c.overBuiltin(key, compiled, known)
		for _, other := range patterns {
			if both, ok := overlap(other, key, known); ok {
				c.report(o.health, c.place(key), OverlappingWildcard, Error, "make them exclude each other, or give the kinds keys of their own",
					"%s and %s both match %s", other, key, both)
			}
		}
		patterns = append(patterns, key)
	}
}

// place is the line of the key of an override.
func (c *configMap) place(key string) int {
	if o := c.settings[key]; o.health != customizationsKey {
		return c.line(o.health)
	}
	return c.inner(key)(0)
}

// overBuiltin reports the checks that a wildcard wins against.
func (c *configMap) overBuiltin(key string, p pattern, known []string) {
	var beaten []string
	for _, k := range known {
		if p.match(k) {
			beaten = append(beaten, k)
		}
	}
	if len(beaten) == 0 {
		return
	}
	const shown = 4
	list := strings.Join(beaten[:min(len(beaten), shown)], ", ")
	if more := len(beaten) - shown; more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	c.report(c.settings[key].health, c.place(key), WildcardOverBuiltin, Warning, "exclude them from the pattern, or give them keys of their own",
		"%s wins against the checks that Argo CD brings along for %s", key, list)
}

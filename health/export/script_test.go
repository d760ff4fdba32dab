package export

import (
	"testing"

	"hallmark.dev/hallmark/health"
	"hallmark.dev/hallmark/health/compile"
)

// check is a check with targets and no more, for what does not look at rules.
func check(name string, line int, targets ...health.Target) *health.Check {
	return &health.Check{File: "checks.yaml", Line: line, Name: name, Targets: targets}
}

func target(group string, kinds ...string) health.Target {
	return health.Target{Group: group, Kinds: kinds}
}

// oddLua has what YAML could lose: blanks at the ends of lines, tabs, lines of
// blanks, comments of YAML and Helm, and other alphabets.
const oddLua = "local status = obj.status  \n\n\tif status == nil then\t\n   \n  return {status = \"Progressing\", message = \"größer: {{ x }} # \"}\n\tend\n--[[ ]] \"\"\"\nreturn {{status = 'Healthy'}}[1]\n"

// someScripts has every form of a target.
func someScripts() []Script {
	libs := check("libs", 20, target("libs.example.org", "Text"), target("*.libs.example.org", "Text*"))
	libs.UseOpenLibs = true
	return []Script{
		{check("widgets", 1, target("example.org", "Widget", "Gadget"), target("", "Endpoints")), "return {status = \"Healthy\", message = \"\"}\n"},
		{check("wild", 10, target("*.wild.example.org", "*"), target("wild.example.org", "*"), target("", "Per*")), oddLua},
		{libs, "-- no line break at the end\nreturn {status = string.upper(\"h\") .. \"ealthy\", message = \"\"}"},
		{check("last", 30, target("last.example.org", "Thing")), "return {status = \"Healthy\", message = \"\"}\n\n\n"},
	}
}

// compiled are the scripts of checks.
func compiled(t *testing.T, checks []*health.Check) []Script {
	t.Helper()
	var scripts []Script
	for _, c := range checks {
		lua, err := compile.Lua(c, "v0.0.0-test")
		if err != nil {
			t.Fatal(err)
		}
		scripts = append(scripts, Script{c, lua})
	}
	return scripts
}

func parseText(t *testing.T, text string) *health.Check {
	t.Helper()
	checks, err := health.Parse("check.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return checks[0]
}

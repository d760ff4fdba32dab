package lint

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"hallmark.dev/hallmark/lua/vm"
)

func TestSeeds(t *testing.T) {
	t.Parallel()
	const script = `
local paused = obj.spec.paused == true
for _, c in ipairs(obj.status.conditions) do
  if c.type == "Ready" and c.status == "True" and c.reason ~= "Waiting" then end
  if c.type == "Failed" then return {status = "Degraded", message = c.message} end
end
if obj.status.phase == "Up" or obj.status.phase == "Down" then end
if obj.status.readyReplicas < 2 then end
if obj.status.observedGeneration == obj.metadata.generation then end
for _, node in ipairs(obj.status.nodes) do if node.state == "ok" then end end
if obj.kind == "Widget" then end`
	source, err := vm.Read(script)
	if err != nil {
		t.Fatal(err)
	}
	made := map[string]string{}
	var names []string
	for _, o := range seeds(source, Options{Group: "example.com", Kind: "Widget"}) {
		data, err := json.Marshal(o.Value)
		if err != nil {
			t.Fatal(err)
		}
		if _, twice := made[o.Name]; twice {
			t.Errorf("two objects are called %q", o.Name)
		}
		made[o.Name] = string(data)
		names = append(names, o.Name)
	}
	condition := func(kind, status, reason string) string {
		return `{"message":"text","reason":"` + reason + `","status":"` + status + `","type":"` + kind + `"}`
	}
	for name, parts := range map[string][]string{
		"all that the script looks at": {
			`"apiVersion":"example.com/v1"`, `"kind":"Widget"`, `"metadata":{"generation":2,"name":"example","namespace":"default"}`, `"spec":{"paused":false}`,
			`"conditions":[` + condition("Failed", "True", "Waiting") + "," + condition("Ready", "True", "Waiting") + "]", `"phase":"Down"`, `"readyReplicas":2`, `"observedGeneration":2`,
			`"nodes":[{"state":"ok"}]`,
		},
		"status.conditions: Ready=False":                      {`"status":{"conditions":[` + condition("Ready", "False", "Waiting") + `],"observedGeneration":2}`},
		"status.conditions: all True but Failed":              {condition("Failed", "False", "Waiting") + "," + condition("Ready", "True", "Waiting"), `"phase":"Down"`},
		"status.conditions: Failed=False and Ready=True":      {condition("Failed", "False", "Waiting") + "," + condition("Ready", "True", "Waiting")},
		"status.conditions: Failed=False with reason Waiting": {condition("Failed", "False", "Waiting")},
		`status.phase: "Up"`:                                  {`"phase":"Up"`, `"readyReplicas":2`},
		`status.phase: "Up" alone`:                            {`"status":{"observedGeneration":2,"phase":"Up"}`, `"spec":{"paused":false}`},
		"spec.paused: true":                                   {`"spec":{"paused":true}`},
		"status.readyReplicas: 1":                             {`"readyReplicas":1`},
		"status.conditions: Failed=True and Ready=False":      {condition("Failed", "True", "Waiting") + "," + condition("Ready", "False", "Waiting")},
	} {
		for _, part := range parts {
			if !strings.Contains(made[name], part) {
				t.Errorf("%q is %s, want %s in it\nall: %q", name, made[name], part, names)
			}
		}
	}
}

// TestSeedsReach: what is made up from a script alone reaches nearly every status
// that its authors wrote objects for.
func TestSeedsReach(t *testing.T) {
	t.Parallel()
	reached, wanted := 0, 0
	for _, k := range vm.Builtins() {
		text, _ := vm.Builtin(k.Group, k.Kind)
		source, err := vm.Read(text)
		if err != nil {
			t.Fatal(err)
		}
		script, err := vm.Compile(text, true)
		if err != nil {
			t.Fatal(err)
		}
		statuses := func(objects []Object) (all []string) {
			for _, o := range objects {
				if r, err := script.Inspect(o.Value); err == nil && vm.Valid(r.Status.Text) && !slices.Contains(all, r.Status.Text) {
					all = append(all, r.Status.Text)
				}
			}
			return all
		}
		made := statuses(seeds(source, Options{Group: k.Group, Kind: k.Kind}))
		for _, status := range statuses(fixtures(k)) {
			wanted++
			if slices.Contains(made, status) {
				reached++
			} else {
				t.Logf("%s/%s: %s is not reached", k.Group, k.Kind, status)
			}
		}
	}
	t.Logf("%d of %d statuses were reached", reached, wanted)
	if wanted < 500 || reached*100 < wanted*95 {
		t.Errorf("%d of %d statuses were reached, want 95 percent", reached, wanted)
	}
}

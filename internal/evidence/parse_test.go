package evidence

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"

	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/internal/object"
)

func TestParseErrors(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, old, new, want string }{
		{"no JSON", "{\n  \"_type\"", "é,\n  \"_type\"", `r.json:1:1: invalid character 'é' at start of value`},
		{"a brace too many", "\"run-1\"", "\"run-1\"}}", `r.json:211:3: invalid character '}' after top-level value`},
		{"a type", `"project": "team-a"`, `"project": 3`, `r.json:18:20: /predicate/buildDefinition/externalParameters/project: a number is not what a record has there`},
		{"a name twice", `"project": "team-a"`, `"app": "b"`, `r.json:18:9: /predicate/buildDefinition/externalParameters/app: duplicate object member name`},
		{"statement type", StatementType, "https://in-toto.io/Statement/v0.1", `r.json: _type is "https://in-toto.io/Statement/v0.1", want "https://in-toto.io/Statement/v1"`},
		{"predicate type", PredicateType, "x", `r.json: predicateType is "x", want "https://slsa.dev/provenance/v1"`},
		{"build type", BuildType, "x", `r.json: predicate.buildDefinition.buildType is "x", want "https://hallmark.dev/render/v1"`},
		{"subject", strings.Repeat("a", 64), "a", `r.json: the digest of the subject is "sha256:a", want sha256: and 64 hex digits`},
		{"subjects", `"subject": [`, `"subject": [{},`, `r.json: the record has 2 subjects, want 1`},
		{"pointer", `"/data/id"`, `"data"`, `r.json: ignored field of ConfigMap "shop/id": "data" is not a JSON pointer to a field`},
		{"byproduct", `"Namespace shop"`, `"Namespace"`, `r.json: byproduct "Namespace": the name "Namespace" has no space between kind and name`},
		{"byproduct's escape", `"Namespace shop"`, `"Namespace %"`, `r.json: byproduct "Namespace %": the name "Namespace %" has a % that is not an escape`},
		{"byproduct's digest", strings.Repeat("d", 64), "d", `r.json: byproduct "Namespace shop": the digest is "sha256:d", want sha256: and 64 hex digits`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			text := string(marshal(t, full()))
			if !strings.Contains(text, test.old) {
				t.Fatalf("the record has no %q", test.old)
			}
			_, err := Parse("r.json", []byte(strings.Replace(text, test.old, test.new, 1)))
			var fault *diag.Error
			if !errors.As(err, &fault) {
				t.Fatalf("got %v, want a *diag.Error", err)
			}
			if err.Error() != test.want {
				t.Errorf("got  %v\nwant %s", err, test.want)
			}
		})
	}
}

func TestParseSkipsWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	text := strings.Replace(string(marshal(t, full())), `"_type"`, `"later": [1], "_type"`, 1)
	if _, err := Parse("r.json", []byte(text)); err != nil {
		t.Error(err)
	}
}

func FuzzParse(f *testing.F) {
	golden, err := os.ReadFile("testdata/record.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(golden)
	for _, r := range []Record{least(), full()} {
		text, err := Marshal(r)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := Parse("r.json", text)
		if err != nil {
			return
		}
		once, err := Marshal(r)
		if err != nil {
			// Parse is lenient in what a verification does not read.
			return
		}
		again, err := Parse("r.json", once)
		if err != nil {
			t.Fatalf("%v\n%s", err, once)
		}
		twice, err := Marshal(again)
		if err != nil || !bytes.Equal(once, twice) {
			t.Errorf("%v\nonce  %s\ntwice %s", err, once, twice)
		}
	})
}

func TestByproductName(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		id   object.ID
		want string
	}{
		{object.ID{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"}, "Deployment.apps shop/web"},
		{object.ID{Kind: "Namespace", Name: "shop"}, "Namespace shop"},
		{object.ID{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: "system:a b"}, "ClusterRole.rbac.authorization.k8s.io system:a b"},
		{object.ID{Group: "batch", Kind: "Job", Namespace: "shop"}, "Job.batch shop/"},
		{object.ID{Kind: "A", Name: "b/c"}, "A b%2Fc"},
		{object.ID{Kind: "A", Namespace: "b", Name: "c"}, "A b/c"},
	} {
		if got := byproductName(test.id); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}

func FuzzByproductName(f *testing.F) {
	f.Add("apps", "Deployment", "shop", "web")
	f.Add("", "A.b c", "d/e", "%2F")
	f.Fuzz(func(t *testing.T, group, kind, namespace, name string) {
		want := object.ID{Group: group, Kind: kind, Namespace: namespace, Name: name}
		if got, err := parseByproductName(byproductName(want)); err != nil || got != want {
			t.Errorf("%+v became %q and then %+v, %v", want, byproductName(want), got, err)
		}
	})
}

package evidence

import (
	"flag"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	provenancev1 "github.com/in-toto/attestation/go/predicates/provenance/v1"
	statementv1 "github.com/in-toto/attestation/go/v1"
	"google.golang.org/protobuf/encoding/protojson"

	"hallmark.dev/hallmark/internal/object"
)

var update = flag.Bool("update", false, "write testdata/record.json anew")

func hash(digit string) string { return "sha256:" + strings.Repeat(digit, 64) }

const commit = "0123456789abcdef0123456789abcdef01234567"

// full is a record with every field set, in no particular order.
func full() Record {
	web := object.ID{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"}
	return Record{
		RenderHash: hash("a"), InputsHash: hash("b"), StampFormat: "hallmark stamp format v1", SecretsKeyed: true,
		App: "web", Namespace: "shop", Project: "team-a",
		Source: Source{Repo: "https://git.example.com/shop.git", Revision: commit, Path: "apps/web"},
		Parameters: []Parameter{
			{Name: "release-name", Value: "web"},
			{Name: "values", Value: map[string]any{"db": map[string]any{"password": "hunter2", "ports": []any{int64(4711), "hunter2"}}, "a/b~": nil, "none": map[string]any{}}, Sensitive: true},
			{Name: "helm-parameters", Value: map[string]any{"<n>": int64(9007199254740993), "f": 0.5, "list": []any{true, nil}}},
			{Name: "token", Value: "hunter2", Sensitive: true},
		},
		Files: []File{
			{Path: "apps/web/values.yaml", Digest: hash("2")},
			{Path: "apps/web/Chart.yaml", Digest: hash("1")},
			{Path: "apps/web/values.yaml", Digest: hash("2")},
		},
		Renderer: "helm3/v3.22.0", KubeVersion: "1.33.0", APIVersions: []string{"v1", "apps/v1", "v1"},
		Limits: map[string]int64{"objects": 10000, "file-bytes": 1 << 20}, Determinism: "warn",
		Ignored: []Ignored{
			{Object: web, Pointer: "/spec/template/metadata/annotations/a.io~1rolled", Template: "web/templates/web.yaml", Function: "now"},
			{Object: object.ID{Kind: "ConfigMap", Namespace: "shop", Name: "id"}, Pointer: "/data/id"},
		},
		Seed: "seed-2026",
		Derived: []Derived{
			{Object: object.ID{Kind: "Secret", Namespace: "shop", Name: "db"}, Field: "/data/password", Reason: "randAlphaNum", Names: []string{"Secret/db/data/password"}, Generation: 2},
			{Object: web, Field: "/spec/template/metadata/annotations/checksum~1config", Reason: "checksum,randAlphaNum", Names: []string{"Secret/db/data/user", "Secret/db/data/password"}},
		},
		Functions: []string{"now", "lookup"},
		Lint: &Lint{Findings: []Finding{
			{Rule: "job-deadline", Level: "deny", Object: object.ID{Group: "batch", Kind: "Job", Namespace: "shop", Name: "migrate"}, Field: "/spec/activeDeadlineSeconds",
				Message: "the Job has no spec.activeDeadlineSeconds", Waiver: &Waiver{Day: "2027-03-31", Reason: "the vendor has no value for it"}},
			{Rule: "owner-label", Level: "warn", Object: web, Message: "every Deployment names its owner"},
		}},
		Objects: []Object{
			{ID: web, Digest: hash("c"), Origin: "web/templates/web.yaml"},
			{ID: object.ID{Kind: "Namespace", Name: "shop"}, Digest: hash("d"), Origin: "apps/ns.yaml", Line: 7},
			{ID: object.ID{Group: "batch", Kind: "Job", Namespace: "shop"}, Digest: hash("e")},
		},
		Versions:     map[string]string{"hallmark": "v0.1.0", "helm3": "v3.22.0", "kustomize": "v5.8.1"},
		InvocationID: "run-1", StartedOn: time.Date(2026, 1, 2, 3, 4, 5, 6000, time.FixedZone("", 3600)),
	}
}

func least() Record {
	return Record{RenderHash: hash("a"), Versions: map[string]string{"hallmark": "v0.1.0"}}
}

func marshal(t *testing.T, r Record) []byte {
	t.Helper()
	text, err := Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestGolden(t *testing.T) {
	t.Parallel()
	const golden = "testdata/record.json"
	got := marshal(t, full())
	if *update {
		if err := os.WriteFile(golden, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got), refresh with -update:\n%s", golden, diff)
	}
}

// TestSpecification reads records with the field definitions of the
// specifications, which refuse fields that they do not know.
func TestSpecification(t *testing.T) {
	t.Parallel()
	dirty, unnamed := full(), full()
	dirty.Source.Revision = commit + "-dirty"
	unnamed.Source = Source{Revision: "v1"}
	bare := full()
	bare.App, bare.Source, bare.Files, bare.Objects, bare.Parameters = "", Source{}, nil, nil, nil
	for name, r := range map[string]Record{"full": full(), "least": least(), "dirty": dirty, "no repository URL": unnamed, "no repository": bare} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var s statementv1.Statement
			if err := protojson.Unmarshal(marshal(t, r), &s); err != nil {
				t.Fatal(err)
			}
			if err := s.Validate(); err != nil {
				t.Errorf("statement: %v", err)
			}
			if s.GetPredicateType() != PredicateType {
				t.Errorf("predicate type %q", s.GetPredicateType())
			}
			predicate, err := protojson.Marshal(s.GetPredicate())
			if err != nil {
				t.Fatal(err)
			}
			var p provenancev1.Provenance
			if err := protojson.Unmarshal(predicate, &p); err != nil {
				t.Fatal(err)
			}
			if err := p.Validate(); err != nil {
				t.Errorf("provenance: %v", err)
			}
			if got, want := p.GetRunDetails().GetMetadata().GetStartedOn() != nil, !r.StartedOn.IsZero(); got != want {
				t.Errorf("startedOn is there: %t, want %t", got, want)
			}
			if got := len(p.GetRunDetails().GetByproducts()); got != len(r.Objects) {
				t.Errorf("%d byproducts, want %d", got, len(r.Objects))
			}
		})
	}
}

// TestSensitiveValuesAreLeftOut looks for the value in every spelling that a
// record could give it.
func TestSensitiveValuesAreLeftOut(t *testing.T) {
	t.Parallel()
	r := full()
	r.Source.Repo = "https://user:hunter2@git.example.com/shop.git"
	text := string(marshal(t, r))
	for _, leak := range []string{"hunter2", "4711", "aHVudGVyMg"} {
		if strings.Contains(text, leak) {
			t.Errorf("the record has %q in it", leak)
		}
	}
	for _, name := range []string{`"/db/password"`, `"/db/ports/0"`, `"/a~1b~0"`, `"/none"`} {
		if !strings.Contains(text, name) {
			t.Errorf("the record lacks the path %s", name)
		}
	}
	changed := full()
	changed.Source.Repo = r.Source.Repo
	for i, p := range changed.Parameters {
		if p.Name == "token" {
			changed.Parameters[i].Value = "hunter3"
		}
	}
	if string(marshal(t, changed)) != text {
		t.Error("two values of a sensitive parameter give two records")
	}
}

func TestOrderDoesNotCount(t *testing.T) {
	t.Parallel()
	reverse := func() Record {
		r := full()
		slices.Reverse(r.Parameters)
		slices.Reverse(r.Files)
		slices.Reverse(r.APIVersions)
		slices.Reverse(r.Ignored)
		slices.Reverse(r.Derived)
		slices.Reverse(r.Derived[0].Names)
		slices.Reverse(r.Lint.Findings)
		slices.Reverse(r.Functions)
		slices.Reverse(r.Objects)
		return r
	}
	reversed := reverse()
	if diff := cmp.Diff(string(marshal(t, full())), string(marshal(t, reversed))); diff != "" {
		t.Errorf("the order of the input shows (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(reverse(), reversed); diff != "" {
		t.Errorf("Marshal changed the record (-want +got):\n%s", diff)
	}
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	dirty, unnamed, clean := full(), full(), full()
	dirty.Source.Revision = commit + "-dirty"
	unnamed.Source = Source{Revision: "v1", Path: "apps"}
	clean.Lint = &Lint{} // rules were checked and found nothing
	for name, r := range map[string]Record{"full": full(), "least": least(), "dirty": dirty, "unnamed": unnamed, "no finding": clean} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := Parse("record.json", marshal(t, r))
			if err != nil {
				t.Fatal(err)
			}
			want := r
			want.APIVersions, want.Functions = sortedSet(r.APIVersions), sortedSet(r.Functions)
			want.Parameters = slices.Clone(r.Parameters)
			for i, p := range want.Parameters {
				if p.Sensitive {
					want.Parameters[i].Value = nil
				}
				if p.Name == "helm-parameters" {
					want.Parameters[i].Value = map[string]any{"<n>": float64(1 << 53), "f": 0.5, "list": []any{true, nil}}
				}
			}
			want.Files = slices.Compact(slices.SortedFunc(slices.Values(r.Files), func(a, b File) int { return strings.Compare(a.Path, b.Path) }))
			options := cmp.Options{
				cmpopts.EquateEmpty(),
				cmpopts.EquateApproxTime(0),
				cmpopts.SortSlices(func(a, b Parameter) bool { return a.Name < b.Name }),
				cmpopts.SortSlices(func(a, b Ignored) bool { return a.Object.Compare(b.Object) < 0 }),
				cmpopts.SortSlices(func(a, b Derived) bool { return a.Object.Compare(b.Object) < 0 }),
				cmpopts.SortSlices(func(a, b string) bool { return a < b }),
				cmpopts.SortSlices(func(a, b Finding) bool { return a.Object.Compare(b.Object) < 0 }),
				cmpopts.SortSlices(func(a, b Object) bool { return a.ID.Compare(b.ID) < 0 }),
			}
			if diff := cmp.Diff(want, got, options); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestMarshalErrors(t *testing.T) {
	t.Parallel()
	id := object.ID{Kind: "ConfigMap", Name: "a"}
	for _, test := range []struct {
		name   string
		change func(r *Record)
		want   string
	}{
		{"render hash", func(r *Record) { r.RenderHash = "" }, `the render hash is "", want sha256: and 64 hex digits`},
		{"inputs hash", func(r *Record) { r.InputsHash = "sha256:AB" }, `the inputs hash is "sha256:AB", want sha256: and 64 hex digits`},
		{"file", func(r *Record) { r.Files = []File{{Path: "a", Digest: "b"}} }, `the digest of file "a" is "b", want sha256: and 64 hex digits`},
		{"object", func(r *Record) { r.Objects = []Object{{ID: id}} }, `the digest of ConfigMap "a" is "", want sha256: and 64 hex digits`},
		{"pointer", func(r *Record) { r.Ignored = []Ignored{{Object: id, Pointer: "data.a"}} }, `ignored field of ConfigMap "a": "data.a" is not a JSON pointer to a field`},
		{"root pointer", func(r *Record) { r.Ignored = []Ignored{{Object: id}} }, `ignored field of ConfigMap "a": "" is not a JSON pointer to a field`},
		{"derived pointer", func(r *Record) { r.Derived = []Derived{{Object: id, Field: "data.a"}} }, `derived field of ConfigMap "a": "data.a" is not a JSON pointer to a field`},
		{"parameter twice", func(r *Record) {
			r.Parameters = []Parameter{{Name: "a", Value: "hunter2"}, {Name: "a", Value: "hunter2", Sensitive: true}}
		}, `parameter "a" is given twice`},
		{"parameter", func(r *Record) { r.Parameters = []Parameter{{Name: "a", Value: math.NaN()}} },
			`evidence record: at "/predicate/buildDefinition/externalParameters/parameters/a": a value of Go type float64 has no JSON form`},
		{"not UTF-8", func(r *Record) { r.Parameters = []Parameter{{Name: "a", Value: "hunter2\xff"}} },
			`evidence record: at "/predicate/buildDefinition/externalParameters/parameters/a": invalid UTF-8`},
		{"versions", func(r *Record) { r.Versions = map[string]string{"helm3": "v3"} }, "the versions do not name that of hallmark"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := least()
			test.change(&r)
			text, err := Marshal(r)
			if err == nil || err.Error() != test.want {
				t.Errorf("got  %s, %v\nwant %s", text, err, test.want)
			}
		})
	}
}

func TestFileNamesThatAreNotUTF8(t *testing.T) {
	t.Parallel()
	r := least()
	r.Files = []File{{Path: "a\xff", Digest: hash("1")}}
	r.Objects = []Object{{ID: object.ID{Kind: "A", Name: "b"}, Digest: hash("2"), Origin: "c\xff.yaml"}}
	got, err := Parse("", marshal(t, r))
	if err != nil {
		t.Fatal(err)
	}
	if got.Files[0].Path != "a\uFFFD" || got.Objects[0].Origin != "c\uFFFD.yaml" {
		t.Errorf("got %+v", got)
	}
}

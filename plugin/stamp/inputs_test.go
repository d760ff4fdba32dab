package stamp

import (
	"math"
	"slices"
	"strings"
	"testing"
)

func sampleInputs() Inputs {
	return Inputs{
		Files: []File{
			{"apps/web/Chart.yaml", "sha256:aa"},
			{"apps/web/values.yaml", "sha256:bb"},
			{"apps/web/templates/\xff.yaml", "sha256:cc"},
		},
		Parameters:  map[string]any{"release-name": "web", "helm-parameters": map[string]any{"a": int64(1)}},
		Sensitive:   map[string]any{"values": "password: hunter2"},
		App:         "web",
		Namespace:   "shop",
		KubeVersion: "1.33.0",
		APIVersions: []string{"apps/v1", "v1"},
		Renderer:    "helm3/v3.22.0",
	}
}

func inputsHash(t *testing.T, in Inputs) string {
	t.Helper()
	hash, err := InputsHash(in)
	if err != nil {
		t.Fatal(err)
	}
	return hash
}

// TestInputsHash fixes the definition, written out.
func TestInputsHash(t *testing.T) {
	t.Parallel()
	want := digest([]byte(`{"apiVersions":["apps/v1","v1"],"app":"web","files":[["apps/web/Chart.yaml","sha256:aa"],` +
		`[{"base64":"YXBwcy93ZWIvdGVtcGxhdGVzL/8ueWFtbA=="},"sha256:cc"],["apps/web/values.yaml","sha256:bb"]],` +
		`"format":"hallmark stamp format v1","kubeVersion":"1.33.0","namespace":"shop",` +
		`"parameters":{"helm-parameters":{"a":1},"release-name":"web"},"renderer":"helm3/v3.22.0","sensitive":{"values":null}}`))
	if got := inputsHash(t, sampleInputs()); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	empty := digest([]byte(`{"apiVersions":[],"app":"","files":[],"format":"hallmark stamp format v1","kubeVersion":"","namespace":"","parameters":{},"renderer":"","sensitive":{}}`))
	if got := inputsHash(t, Inputs{}); got != empty {
		t.Errorf("without inputs: got %s, want %s", got, empty)
	}
}

func TestInputsHashMoves(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		change func(in *Inputs)
		moves  bool
	}{
		{"order of files", func(in *Inputs) { slices.Reverse(in.Files) }, false},
		{"a file recorded twice", func(in *Inputs) { in.Files = append(in.Files, in.Files[0]) }, false},
		{"order of API versions", func(in *Inputs) { slices.Reverse(in.APIVersions) }, false},
		{"an API version twice", func(in *Inputs) { in.APIVersions = append(in.APIVersions, "v1") }, false},
		{"content", func(in *Inputs) { in.Files[1].Digest = "sha256:dd" }, true},
		{"path", func(in *Inputs) { in.Files[1].Path = "apps/web/values2.yaml" }, true},
		{"contents swapped", func(in *Inputs) {
			in.Files[0].Digest, in.Files[1].Digest = in.Files[1].Digest, in.Files[0].Digest
		}, true},
		{"a file less", func(in *Inputs) { in.Files = in.Files[1:] }, true},
		{"a bad path", func(in *Inputs) { in.Files[2].Path = "apps/web/templates/\xfe.yaml" }, true},
		{"parameter", func(in *Inputs) { in.Parameters["release-name"] = "web2" }, true},
		{"parameter's type", func(in *Inputs) { in.Parameters["helm-parameters"] = map[string]any{"a": "1"} }, true},
		{"new parameter", func(in *Inputs) { in.Parameters["x"] = nil }, true},
		{"sensitive name", func(in *Inputs) { in.Sensitive["x"] = nil }, true},
		{"sensitive value without a key", func(in *Inputs) { in.Sensitive["values"] = "password: other" }, false},
		{"key", func(in *Inputs) { in.Key = testKey }, true},
		{"app", func(in *Inputs) { in.App = "web2" }, true},
		{"namespace", func(in *Inputs) { in.Namespace = "shop2" }, true},
		{"app and namespace swapped", func(in *Inputs) { in.App, in.Namespace = in.Namespace, in.App }, true},
		{"kube version", func(in *Inputs) { in.KubeVersion = "1.34.0" }, true},
		{"API version", func(in *Inputs) { in.APIVersions[0] = "apps/v2" }, true},
		{"renderer", func(in *Inputs) { in.Renderer = "helm4/v4.3.2" }, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			in := sampleInputs()
			test.change(&in)
			if moved := inputsHash(t, in) != inputsHash(t, sampleInputs()); moved != test.moves {
				t.Errorf("the hash moved: %t, want %t", moved, test.moves)
			}
		})
	}

	keyed, changed := sampleInputs(), sampleInputs()
	keyed.Key, changed.Key = testKey, testKey
	changed.Sensitive["values"] = "password: other"
	if inputsHash(t, keyed) == inputsHash(t, changed) {
		t.Error("with a key, a sensitive value does not count")
	}
}

func TestInputsHashErrors(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		change func(in *Inputs)
		want   string
	}{
		{func(in *Inputs) { in.Parameters["x"] = math.Inf(1) }, `inputs of the render: at "/parameters/x": a value of Go type float64 has no JSON form`},
		{func(in *Inputs) { in.Parameters["x"] = "hunter2\xff" }, `inputs of the render: at "/parameters/x": invalid UTF-8`},
		{func(in *Inputs) { in.Key = testKey; in.Sensitive["x"] = "hunter2\xff" }, `the value of parameter "x" has no JSON form`},
		{func(in *Inputs) { in.Key = Key("hunter2") }, `the key for secret values has 7 bytes, want at least 16`},
		{func(in *Inputs) { in.Sensitive["release-name"] = "hunter2" }, `parameter "release-name" is given both as sensitive and as not`},
	} {
		in := sampleInputs()
		test.change(&in)
		hash, err := InputsHash(in)
		if hash != "" || err == nil || err.Error() != test.want || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("got  %q, %v\nwant %s", hash, err, test.want)
		}
	}
}

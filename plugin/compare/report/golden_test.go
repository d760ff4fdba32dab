package report

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the goldens in testdata anew")

func TestGoldens(t *testing.T) {
	t.Parallel()
	for name, r := range cases() {
		for _, format := range []string{"txt", "md", "json", "html"} {
			if name == "many" && (format == "json" || format == "html") {
				continue // megabytes
			}
			t.Run(name+"."+format, func(t *testing.T) {
				t.Parallel()
				got, err := render(r, format)
				if err != nil {
					t.Fatal(err)
				}
				if format == "html" {
					// Goldens are for what the report says. Each would have the whole style and script.
					got = strings.Replace(got, pageStyle, "(page.css)", 1)
					got = strings.Replace(got, pageScript, "(page.js)", 1)
					got = strings.Replace(got, contentPolicyAttribute(), "(the policy)", 1)
				}
				golden(t, filepath.Join("testdata", name+"."+format), got)
			})
		}
	}
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s (-want +got), refresh with -update:\n%.4000s", file, diff)
	}
}

// contentPolicyAttribute is the policy as the page has it.
func contentPolicyAttribute() string {
	return strings.NewReplacer("'", "&#39;", "+", "&#43;").Replace(contentPolicy(pageStyle, pageScript))
}

package sealtest

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
)

// What finds nothing proves nothing: each part of each marker is found in each
// form, also where it was cut.
func TestFinder(t *testing.T) {
	t.Parallel()
	markers := Markers()
	finder := NewFinder(markers, "AGE-SECRET-KEY")
	for _, m := range markers {
		if len(m.Parts) == 0 {
			t.Errorf("marker %q has no parts", m.Key)
		}
		for _, part := range m.Parts {
			inJSON, err := json.Marshal(map[string]string{"a": part})
			if err != nil {
				t.Fatal(err)
			}
			for form, text := range map[string]string{
				"plain": part, "lower": strings.ToLower(part), "upper": strings.ToUpper(part), "quoted": fmt.Sprintf("%q", part), "quoted twice": fmt.Sprintf("%q", fmt.Sprintf("%q", part)),
				"json": string(inJSON), "query": url.QueryEscape(part), "path": url.PathEscape(part), "hex": hex.EncodeToString([]byte(part)), "bytes": fmt.Sprint([]byte(part)),
				"cut": part[:sizeText] + "...", "end": "..." + part[len(part)-sizeText:],
				"base64": base64.StdEncoding.EncodeToString([]byte(part)), "base64, one before": base64.StdEncoding.EncodeToString([]byte("x" + part + "y")),
				"base64, two before": base64.URLEncoding.EncodeToString([]byte("xx" + part)),
			} {
				if found := finder.Find("app/templates/a.yaml:1:2: got " + text + ", want more"); !strings.HasPrefix(found, m.Key) {
					t.Errorf("%s, %s: got %q", m.Key, form, found)
				}
			}
		}
	}
	if found := finder.Find("app/templates/a.yaml:1:2: got string, want number " + fmt.Sprint([]byte("other"))); found != "" {
		t.Errorf("got %q in a text without markers", found)
	}
	if found := finder.Find("x SECRET-KEY"); found == "" {
		t.Error("another secret is not found")
	}
}

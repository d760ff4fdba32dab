package report

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// A parsedPage is a page as a browser sees it.
type parsedPage struct {
	policy         string
	style, script  string
	data           pageData
	text           []string // of the body, without scripts
	elements       map[string]bool
	attributes     map[string]bool
	links, scripts int
}

func parsePage(t *testing.T, text string) parsedPage {
	t.Helper()
	root, err := html.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	p := parsedPage{elements: map[string]bool{}, attributes: map[string]bool{}}
	var walk func(n *html.Node)
	walk = func(n *html.Node) {
		if n.Type == html.TextNode {
			p.text = append(p.text, n.Data)
		}
		if n.Type == html.CommentNode {
			t.Errorf("a comment: %q", n.Data)
		}
		attributes := map[string]string{}
		if n.Type == html.ElementNode {
			p.elements[n.Data] = true
			for _, a := range n.Attr {
				attributes[a.Key] = a.Val
				p.attributes[a.Key] = true
			}
		}
		switch {
		case n.Type != html.ElementNode:
		case n.Data == "meta" && attributes["http-equiv"] == "Content-Security-Policy":
			p.policy = attributes["content"]
		case n.Data == "style":
			p.style = n.FirstChild.Data
			return
		case n.Data == "script" && attributes["type"] == "application/json":
			if err := json.Unmarshal([]byte(n.FirstChild.Data), &p.data); err != nil {
				t.Error(err)
			}
			return
		case n.Data == "script":
			p.script = n.FirstChild.Data
			p.scripts++
			return
		case n.Data == "link" && attributes["href"] == "data:,":
			p.links++
		}
		for child := n.FirstChild; child != nil; child = child.NextSibling {
			walk(child)
		}
	}
	walk(root)
	return p
}

// TestHTMLPolicy holds a page to what its policy says: one style and one script, by
// their hashes, and nothing from elsewhere.
func TestHTMLPolicy(t *testing.T) {
	t.Parallel()
	for name, r := range cases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := render(r, "html")
			if err != nil {
				t.Fatal(err)
			}
			p := parsePage(t, text)
			if p.scripts != 1 || p.links != 1 {
				t.Errorf("%d scripts and %d links", p.scripts, p.links)
			}
			if !strings.HasPrefix(p.policy, "default-src 'none'; ") || strings.Contains(p.policy, "unsafe") {
				t.Errorf("the policy is %s", p.policy)
			}
			for directive, content := range map[string]string{"style-src": p.style, "script-src": p.script} {
				sum := sha256.Sum256([]byte(content))
				want := directive + " 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "';"
				if !strings.Contains(p.policy, want) {
					t.Errorf("the policy has no %s: %s", want, p.policy)
				}
			}
			for attribute := range p.attributes {
				if attribute == "style" || attribute == "src" || strings.HasPrefix(attribute, "on") {
					t.Errorf("an element has the attribute %q", attribute)
				}
			}
			for _, element := range []string{"img", "iframe", "object", "embed", "base", "a", "svg", "audio", "video"} {
				if p.elements[element] {
					t.Errorf("there is an element %q", element)
				}
			}
		})
	}
}

// TestHTMLAssets reads the files of the page: none of them loads or parses anything.
func TestHTMLAssets(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"page.html": pageText, "page.css": pageStyle, "page.js": pageScript} {
		if text == "" {
			t.Errorf("%s is empty", name)
		}
		for _, bad := range []string{"http:", "https:", "url(", "@import", "innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function(", "fetch(", "XMLHttpRequest", "localStorage"} {
			if strings.Contains(text, bad) {
				t.Errorf("%s has %q", name, bad)
			}
		}
	}
	// Every element that the script asks for is in the page.
	for _, match := range regexp.MustCompile(`byId\("(\w+)"\)`).FindAllStringSubmatch(pageScript, -1) {
		if !strings.Contains(pageText, `id="`+match[1]+`"`) {
			t.Errorf("page.js asks for #%s, which page.html does not have", match[1])
		}
	}
}

// TestHTMLEscapes finds hostile values where they belong, as text.
func TestHTMLEscapes(t *testing.T) {
	t.Parallel()
	hostilePage, err := render(hostile(), "html")
	if err != nil {
		t.Fatal(err)
	}
	plainPage, err := render(causes(), "html")
	if err != nil {
		t.Fatal(err)
	}
	p, plain := parsePage(t, hostilePage), parsePage(t, plainPage)
	for element := range p.elements {
		if known := []string{"pre", "b", "form"}; !plain.elements[element] && !slices.Contains(known, element) {
			t.Errorf("hostile values make an element %q; there are %q", element, slices.Sorted(maps.Keys(p.elements)))
		}
	}
	for i, mark := range marks {
		want := printable(mark)
		if !slices.Contains(p.text, want) {
			t.Errorf("no text is %q", want)
		}
		app := p.data.Applications[i]
		if app.Name != want || app.Objects[0].Fields[0].Path != want {
			t.Errorf("the data has %q and %q, want %q", app.Name, app.Objects[0].Fields[0].Path, want)
		}
	}
	for _, raw := range []string{"\x1b", "\u202e", "\u009b", "\x00"} {
		if strings.Contains(hostilePage, raw) {
			t.Errorf("%q is in the page", raw)
		}
	}
}

// TestHTMLSize bounds the page of 300 applications with 1,000 changed objects of 140
// lines.
func TestHTMLSize(t *testing.T) {
	t.Parallel()
	text, err := render(many(300, 10), "html")
	if err != nil {
		t.Fatal(err)
	}
	p := parsePage(t, text)
	objects := 0
	for _, app := range p.data.Applications {
		objects += len(app.Objects)
	}
	if objects != 1000 || len(text) > 10<<20 || len(text) < 1<<20 {
		t.Errorf("%d bytes for %d objects", len(text), objects)
	}
}

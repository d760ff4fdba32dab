package overlay

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strconv"
	"strings"

	"hallmark.dev/hallmark/internal/diag"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
)

// fault is an error whose message is ours: it names a file first and shows no
// content of one.
type fault struct {
	message string
	cause   error
}

func (f *fault) Error() string { return f.message }
func (f *fault) Unwrap() error { return f.cause }

// noteFault keeps the first fault of a build. Kustomize wraps an error at each
// level of the tree, and where a resource may be a file or a folder it reports
// both attempts; what is kept here is the cause.
func (s *session) noteFault(err error) {
	if s.fault == nil {
		s.fault = err
	}
}

// inKustomization names the kustomization in the folder root (an absolute path
// below mount) in front of err, and the subject where the message does not.
func (s *session) inKustomization(root, subject string, err error) error {
	var known *fault
	if errors.As(err, &known) || s.ctx.Err() != nil {
		return err
	}
	text, _ := reduce(err.Error())
	if _, name, _ := strings.Cut(strings.TrimSuffix(subject, ": "), " "); !strings.Contains(text, strings.Trim(name, `"`)) {
		text = subject + text
	}
	return advised(&fault{message: s.fileIn(root) + ": " + text, cause: err})
}

// fileIn is the kustomization file in a folder (an absolute path below mount).
func (s *session) fileIn(root string) string {
	dir, _ := inside(root)
	if file, ok := s.kustomizations[dir]; ok {
		return file
	}
	return dir
}

// advised attaches the remedy to a fault whose wording is Kustomize's.
func advised(f *fault) error {
	if strings.Contains(f.message, "is not in or below") {
		return diag.WithHint(f, "a kustomization reads files only in or below its own folder: move the file there, or give it a kustomization of its own and list that folder")
	}
	return f
}

// explain turns an error of Kustomize into one that a user can act on.
func (s *session) explain(err error) error {
	if s.ctx.Err() != nil {
		return s.ctx.Err()
	}
	if s.fault != nil {
		return s.fault
	}
	text := err.Error()
	if match := duplicateID.FindStringSubmatch(text); match != nil {
		if explained := s.explainDuplicate(match[1], match[2], err); explained != nil {
			return explained
		}
	}
	if match := formatFile.FindStringSubmatch(text); match != nil {
		if explained := s.explainYAML(match[1], err); explained != nil {
			return explained
		}
	}
	if match := externalPlugin.FindStringSubmatch(text); match != nil {
		return diag.WithHint(&fault{
			message: fmt.Sprintf("%s: plugin of kind %q is not built into kustomize", s.target(), match[1]),
			cause:   err,
		}, noPluginHint)
	}
	text, listed := reduce(text)
	file := s.target()
	for _, read := range s.origins.files {
		// The last one that was read is at fault.
		if undecodable.MatchString(text) || listed != "" && path.Base(read.name) == path.Base(listed) {
			file = read.name
		}
	}
	return advised(&fault{message: file + ": " + text, cause: err})
}

// target is the kustomization file that is built, or its folder.
func (s *session) target() string {
	if file, ok := s.kustomizations[s.dir]; ok {
		return file
	}
	return s.dir
}

var (
	duplicateID    = regexp.MustCompile(`already registered id: ([^/\s]+)/(\S+)\.(?:\[noNs\]|\S+)`)
	formatFile     = regexp.MustCompile(`YAML file \[([^\]]+)\] encounters a format error|MalformedYAMLError: yaml: (?:line \d+: )?.* in File: (\S+)`)
	externalPlugin = regexp.MustCompile(`unable to load external plugin '([^']*)'`)
	yamlLine       = regexp.MustCompile(`yaml: line (\d+): (.*)`)
)

// explainDuplicate names the files that define one object. Kustomize's id is
// kind.version.group/name.namespace.
func (s *session) explainDuplicate(gvk, name string, cause error) error {
	kind, rest, _ := strings.Cut(gvk, ".")
	_, group, _ := strings.Cut(rest, ".")
	if group == "[noGrp]" {
		group = ""
	}
	var found []place
	for _, written := range s.origins.index()[identity{group, kind, name}] {
		found = append(found, written.place)
	}
	label := fmt.Sprintf("%s %q", kind, name)
	switch len(found) {
	case 1:
		return &fault{message: fmt.Sprintf("%s: %s is included more than once by %s", found[0], label, s.target()), cause: cause}
	case 2:
		return &fault{message: fmt.Sprintf("%s: %s is defined in %s too", found[1], label, found[0]), cause: cause}
	}
	return nil
}

func (p place) String() string {
	if p.line > 0 {
		return fmt.Sprintf("%s:%d", p.file, p.line)
	}
	return p.file
}

// explainYAML finds the line of a syntax error in the last file of that name
// that was read; Kustomize counts lines from the start of the document.
func (s *session) explainYAML(listed string, cause error) error {
	for i := len(s.origins.files) - 1; i >= 0; i-- {
		file := s.origins.files[i]
		if listed != "" && path.Base(file.name) != path.Base(listed) {
			continue
		}
		if line, text, found := syntaxError(file.content); found {
			return &fault{message: fmt.Sprintf("%s:%d: %s", file.name, line, withoutContentText(text)), cause: cause}
		}
	}
	return nil
}

// syntaxError returns the first YAML syntax error of a stream.
func syntaxError(content []byte) (line int, text string, found bool) {
	content = bytes.ReplaceAll(content, []byte("\r\n"), []byte("\n"))
	start := 0
	for _, part := range append(separator.FindAllIndex(content, -1), []int{len(content), len(content)}) {
		doc := content[start:part[0]]
		if _, err := kyaml.Parse(string(doc)); err != nil && len(bytes.TrimSpace(doc)) > 0 {
			if match := yamlLine.FindStringSubmatch(err.Error()); match != nil {
				within, convErr := strconv.Atoi(match[1])
				if convErr == nil {
					return bytes.Count(content[:start], []byte("\n")) + within, match[2], true
				}
			}
			if !strings.Contains(err.Error(), "EOF") {
				return bytes.Count(content[:start], []byte("\n")) + 1, strings.TrimPrefix(err.Error(), "yaml: "), true
			}
		}
		start = part[1]
	}
	return 0, "", false
}

var separator = regexp.MustCompile(`\n---.*\n`)

var (
	// wrappings are prefixes that only say where in the recursion Kustomize was.
	wrappings = regexp.MustCompile(`^(?:accumulating resources|accumulating components|loading generator plugins|merging resources from '[^']*'|recursed (?:accumulation of|merging from) path '[^']*'|accumulateDirectory|loader\.New|accumulating resources from '[^']*'|couldn't make target for path '[^']*'|security|failed to load generator|must build at directory|not a valid directory|Failed to read kustomization file under [^:]*|trouble configuring builtin \w+ with config|invalid Kustomization|merging from generator &\{[^}]*\}|(?:merging vars|loading CRDs) \[.*\])[:;] ?`)
	// undecodable is how a configuration or a CRD file that was just read fails.
	undecodable = regexp.MustCompile(`^error (?:unmarshaling JSON|converting YAML to JSON)`)
	fromFile    = regexp.MustCompile(`^accumulating resources from '([^']*)': `)
	// contents are where Kustomize starts to quote what it read: a configuration,
	// a patch, a node. A Secret may be in it, so the message ends there.
	contents   = regexp.MustCompile("(?s)(?: with config)?: ?`\n.*|\n.*| in object .*|:? ?node contents?:.*| from \\[.*|; got .*|literal sources \\[.*|line \\[[0-9 ]+\\] has.*|is not allowed to set `patches.target` field: .*|must specify a target for (?:JSON )?patch .*|decoding \\[?\\{.*|cannot be found in .*|map\\[string\\].*|&\\{.*")
	resourceID = regexp.MustCompile(`id resid\.ResId\{.*?Kind:"([^"]*)".*?Name:"([^"]*)".*?\}`)
	unreadable = regexp.MustCompile("cannot unmarshal (!!\\w+) `[^`]*`")
	twice      = regexp.MustCompile(`mapping key ("[^"]*") already defined`)
	// configured is the configuration that Kustomize prints between the name of
	// a plugin and what is wrong with it.
	configured = regexp.MustCompile("(?s)^(trouble configuring builtin \\w+ with config: )`\n.*\n`: ")
)

// reduce strips a message of Kustomize down to its cause. listed is the path of
// the resource file at fault, as a kustomization has it, where the message has
// one.
func reduce(text string) (cause, listed string) {
	text = unmounted(text)
	for range maxDepth {
		before := text
		text = strings.TrimSpace(text)
		if unquoted, err := strconv.Unquote(text); err == nil {
			text = unquoted
		}
		text = configured.ReplaceAllString(text, "$1")
		if match := fromFile.FindStringSubmatch(text); match != nil {
			listed = match[1]
		}
		text = wrappings.ReplaceAllString(text, "")
		if tries, found := strings.CutPrefix(text, "accumulation err='"); found {
			text = relevant(tries)
		}
		if text == before {
			break
		}
	}
	return withoutContentText(text), listed
}

// maxDepth bounds how many wrappings reduce takes off.
const maxDepth = 1000

// relevant picks one of the two errors that Kustomize reports for a resource:
// "<as a file>': <as a folder>".
func relevant(tries string) string {
	if _, asFolder, found := strings.Cut(tries, "' must resolve to a file': "); found {
		return asFolder
	}
	if asFile, _, found := strings.Cut(tries, "': must build at directory: "); found {
		return asFile
	}
	for _, asFolder := range []string{`': path "`, "': "} {
		if i := strings.LastIndex(tries, asFolder); i >= 0 {
			return tries[i+len("': "):]
		}
	}
	return tries
}

// withoutContent is err with quoted file content cut off.
func withoutContent(err error) error {
	return &fault{message: withoutContentText(unmounted(err.Error())), cause: err}
}

// kept say in other words what a message says with quoted content: each stands
// for a match of contents that starts with its first word or words.
var kept = []struct{ start, text string }{
	{"literal sources", "a literal source is not valid, want key=value"},
	{"line", "a line has invalid UTF-8 bytes"},
	{"is not allowed to set `patches.target` field", "is not allowed to set `patches.target` field"},
	{"must specify a target for", "must specify a target for a JSON patch"},
}

func withoutContentText(text string) string {
	if match := twice.FindStringSubmatch(text); match != nil {
		return fmt.Sprintf("mapping key %s is defined twice", match[1])
	}
	cut := contents.ReplaceAllStringFunc(text, func(match string) string {
		for _, keep := range kept {
			if strings.HasPrefix(match, keep.start) {
				return keep.text
			}
		}
		return ""
	})
	cut = resourceID.ReplaceAllString(cut, `$1 "$2"`)
	cut = unreadable.ReplaceAllString(cut, "cannot unmarshal $1")
	return strings.TrimRight(cut, " :\n")
}

// locate returns ":line:column" of the first scalar in a YAML file that equals
// text, or "" where there is none.
func locate(fsys fs.FS, name, text string) string {
	content, err := fs.ReadFile(fsys, name)
	if err != nil {
		return ""
	}
	root, err := kyaml.Parse(string(content))
	if err != nil {
		return ""
	}
	node := scalarNode(root.YNode(), text)
	if node == nil {
		return ""
	}
	return fmt.Sprintf(":%d:%d", node.Line, node.Column)
}

func scalarNode(node *kyaml.Node, text string) *kyaml.Node {
	if node.Kind == kyaml.ScalarNode && node.Value == text {
		return node
	}
	for _, child := range node.Content {
		if found := scalarNode(child, text); found != nil {
			return found
		}
	}
	return nil
}

// panicSite names the function that panicked: the first frame behind the
// runtime's in a stack trace.
func panicSite(stack []byte) string {
	lines := strings.Split(string(stack), "\n")
	for i, line := range lines {
		if !strings.HasPrefix(line, "panic(") {
			continue
		}
		for _, frame := range lines[i+1:] {
			if frame != "" && frame[0] != '\t' && !strings.HasPrefix(frame, "runtime.") {
				name, _, _ := strings.Cut(frame, "(0x")
				return strings.TrimSuffix(name, "(...)")
			}
		}
	}
	return "an unknown place"
}

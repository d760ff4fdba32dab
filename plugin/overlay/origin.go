package overlay

import (
	"bytes"
	"strings"

	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/resid"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
)

// identity is what a resource is called where it is written, before prefixes,
// suffixes and hashes. The namespace is kept beside it: for a cluster-scoped
// kind Kustomize drops it.
type identity struct {
	group, kind, name string
}

// written is a resource at a place.
type written struct {
	identity
	namespace string
	place     place
}

// place is where a document starts: a file and a 1-based line, 0 where unknown.
type place struct {
	file string
	line int
}

// origins remembers which file each resource came from.
//
// Kustomize can tell by itself (buildMetadata: [originAnnotations]), but it does
// so in an annotation that patches and replacements can see, and it re-marshals
// it at each step. Instead the documents that Kustomize reads are listed here
// with the identities written in them, and an observer placed behind the last
// transformer notes the identity that each final resource started with.
type origins struct {
	// files are the resource files in the order in which they were read.
	files []readFile
	seen  map[string]bool
	// generated are the places of generated resources.
	generated []written
	// started holds the original id of each observed resource.
	started map[*resource.Resource]resid.ResId
}

type readFile struct {
	name    string
	content []byte
}

func newOrigins() *origins {
	return &origins{
		seen:    map[string]bool{},
		started: map[*resource.Resource]resid.ResId{},
	}
}

// file notes that a file was read as resources.
func (o *origins) file(name string, content []byte) {
	if !o.seen[name] {
		o.seen[name] = true
		o.files = append(o.files, readFile{name, content})
	}
}

// generator notes the outcome of a generator at its place. What merges into an
// object leaves the origin with whoever created that.
func (o *origins) generator(at place, resources []*resource.Resource) {
	for _, res := range resources {
		switch res.Behavior() {
		case types.BehaviorMerge, types.BehaviorReplace:
			continue
		}
		id := res.OrgId()
		o.generated = append(o.generated, written{identityOf(id), effective(id.Namespace), at})
	}
}

// chart notes the templates that an inflated chart came from, as Helm's
// "# Source:" comments name them.
func (o *origins) chart(stream []byte) {
	for _, doc := range documents(stream) {
		source := ""
		for line := range bytes.Lines(doc.content) {
			if rest, ok := bytes.CutPrefix(line, []byte("# Source: ")); ok {
				source = strings.TrimSpace(string(rest))
				break
			}
		}
		if source == "" {
			continue
		}
		for _, object := range identities(doc.content) {
			object.place = place{file: source}
			o.generated = append(o.generated, object)
		}
	}
}

// observe notes the original ids of all resources in m.
func (o *origins) observe(m resmap.ResMap) error {
	for _, res := range m.Resources() {
		o.started[res] = res.OrgId()
	}
	return nil
}

// index lists every written resource by identity.
func (o *origins) index() map[identity][]written {
	index := make(map[identity][]written, len(o.generated))
	for _, file := range o.files {
		for _, doc := range documents(file.content) {
			for _, object := range identities(doc.content) {
				object.place = place{file.name, doc.line}
				index[object.identity] = append(index[object.identity], object)
			}
		}
	}
	for _, object := range o.generated {
		index[object.identity] = append(index[object.identity], object)
	}
	return index
}

// assign gives the place of each resource, or a zero place where it is not
// certain. Several resources that were written under one identity (one base per
// variant) are matched in order, and only when there is one place for each.
func (o *origins) assign(resources []*resource.Resource) []place {
	index := o.index()
	ids := make([]resid.ResId, len(resources))
	count := map[resid.ResId]int{}
	for i, res := range resources {
		id, observed := o.started[res]
		if !observed {
			id = res.CurId()
		}
		ids[i] = id
		count[id]++
	}
	result := make([]place, len(resources))
	next := map[resid.ResId]int{}
	for i, id := range ids {
		var places []place
		for _, object := range index[identityOf(id)] {
			if id.Namespace == resid.TotallyNotANamespace || object.namespace == effective(id.Namespace) {
				places = append(places, object.place)
			}
		}
		switch {
		case len(places) == 1:
			result[i] = places[0]
		case len(places) == count[id]:
			result[i] = places[next[id]]
			next[id]++
		}
	}
	return result
}

func identityOf(id resid.ResId) identity {
	return identity{id.Group, id.Kind, id.Name}
}

// effective treats an absent namespace as Kustomize does when it compares ids.
func effective(namespace string) string {
	if namespace == "" {
		return resid.DefaultNamespace
	}
	return namespace
}

// document is one YAML document of a file.
type document struct {
	content []byte
	// line is the 1-based line of its first line that is neither blank nor a
	// comment.
	line int
}

// documents splits a stream at its separators, leaving out empty documents.
func documents(stream []byte) []document {
	var docs []document
	start, number, first := 0, 0, 0
	flush := func(end int) {
		if first > 0 {
			docs = append(docs, document{stream[start:end], first})
		}
		first = 0
	}
	for offset := 0; offset < len(stream); {
		number++
		end := len(stream)
		if i := bytes.IndexByte(stream[offset:], '\n'); i >= 0 {
			end = offset + i + 1
		}
		line := stream[offset:end]
		switch {
		case bytes.HasPrefix(line, []byte("---")):
			flush(offset)
			start = end
		case first == 0 && len(bytes.TrimSpace(line)) > 0 && line[0] != '#':
			first = number
		}
		offset = end
	}
	flush(len(stream))
	return docs
}

// identities names the objects in one document. A block-style object, which
// nearly all are, is read from its unindented lines; anything else is decoded.
func identities(doc []byte) []written {
	if object, ok := scan(doc); ok {
		return []written{object}
	}
	var value map[string]any
	if err := kyaml.Unmarshal(doc, &value); err != nil {
		return nil
	}
	return decoded(value)
}

func decoded(value map[string]any) []written {
	kind, _ := value["kind"].(string)
	if items, ok := value["items"].([]any); ok && strings.HasSuffix(kind, "List") {
		var objects []written
		for _, item := range items {
			if object, ok := item.(map[string]any); ok {
				objects = append(objects, decoded(object)...)
			}
		}
		return objects
	}
	apiVersion, _ := value["apiVersion"].(string)
	meta, _ := value["metadata"].(map[string]any)
	name, _ := meta["name"].(string)
	namespace, _ := meta["namespace"].(string)
	return []written{{identity: identity{groupOf(apiVersion), kind, name}, namespace: effective(namespace)}}
}

func groupOf(apiVersion string) string {
	group, _, found := strings.Cut(apiVersion, "/")
	if !found {
		return ""
	}
	return group
}

// scan reads apiVersion, kind, metadata.name and metadata.namespace from the
// lines of a block mapping. It gives up rather than guess: on a list, on a value
// that is not a plain or simply quoted scalar, on a missing field.
func scan(doc []byte) (written, bool) {
	var id written
	var inMetadata bool
	var indent int
	for line := range bytes.Lines(doc) {
		line = bytes.TrimRight(line, " \t\r\n")
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		depth := len(line) - len(bytes.TrimLeft(line, " "))
		key, value, found := bytes.Cut(line[depth:], []byte(":"))
		if depth == 0 {
			if !found {
				continue
			}
			inMetadata, indent = false, 0
			switch string(key) {
			case "apiVersion":
				text, ok := simple(value)
				if !ok {
					return id, false
				}
				id.group = groupOf(text)
			case "kind":
				text, ok := simple(value)
				if !ok || strings.HasSuffix(text, "List") {
					return id, false
				}
				id.kind = text
			case "metadata":
				if len(bytes.TrimSpace(value)) > 0 {
					return id, false
				}
				inMetadata = true
			}
			continue
		}
		if !inMetadata || line[depth] == '#' {
			continue
		}
		if indent == 0 {
			indent = depth
		}
		if depth != indent || !found {
			continue
		}
		var ok bool
		switch string(key) {
		case "name":
			if id.name, ok = simple(value); !ok {
				return id, false
			}
		case "namespace":
			if id.namespace, ok = simple(value); !ok {
				return id, false
			}
		}
	}
	id.namespace = effective(id.namespace)
	return id, id.kind != "" && id.name != ""
}

// simple reads a scalar that stands on one line.
func simple(value []byte) (string, bool) {
	text := strings.TrimSpace(string(value))
	if comment := strings.Index(text, " #"); comment >= 0 {
		text = strings.TrimSpace(text[:comment])
	}
	if len(text) >= 2 && (text[0] == '"' || text[0] == '\'') && text[len(text)-1] == text[0] {
		text = text[1 : len(text)-1]
		return text, !strings.ContainsAny(text, `"'\`)
	}
	return text, text != "" && !strings.ContainsAny(text[:1], "&*!|>{[\"'%@`")
}

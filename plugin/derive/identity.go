package derive

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"io"
	"slices"
	"strconv"
	"strings"

	"hallmark.dev/hallmark/internal/object"
)

// version stands in front of each identity. Whoever changes what an identity consists
// of, or how a value is made of a stream, changes all derived values of everyone: then
// this changes too, and the old way stays beside it.
const version = "hallmark/derive/v1"

// stream returns bytes without end that depend on the seed and on the identity, and on
// nothing else. The identity is written with the length of each part, so that no two
// lists give one text. Its HMAC under the seed is a key of its own; the stream is the
// HMACs of a counter under that key. So whoever knows a stream knows neither the seed
// nor a bit of another stream.
func (s *Seed) stream(identity ...string) io.Reader {
	mac := hmac.New(sha256.New, s.key)
	for _, part := range identity {
		mac.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		mac.Write([]byte(part))
	}
	return &stream{key: mac.Sum(nil)}
}

type stream struct {
	key     []byte
	counter uint64
	left    []byte // of the block that was made last
}

func (s *stream) Read(p []byte) (int, error) {
	for n := 0; n < len(p); {
		if len(s.left) == 0 {
			mac := hmac.New(sha256.New, s.key)
			mac.Write(binary.BigEndian.AppendUint64(nil, s.counter))
			s.left = mac.Sum(nil)
			s.counter++
		}
		copied := copy(p[n:], s.left)
		s.left = s.left[copied:]
		n += copied
	}
	return len(p), nil
}

// stream returns the stream of an identity within the application.
func (o Options) stream(identity ...string) io.Reader {
	return o.Seed.stream(append([]string{version, o.Scope.Project, o.Scope.Namespace, o.Scope.App}, identity...)...)
}

// generationOf returns the generation of the values that live in the field of a name:
// that of the application, and behind a dot that of the field where it is not 0.
func (o Options) generationOf(name string) string {
	all := strconv.Itoa(o.Generation)
	if own := o.Fields[name]; own != 0 {
		return all + "." + strconv.Itoa(own)
	}
	return all
}

// home is a place where a random value lives.
type home struct {
	// id is that of the object. Its namespace is empty if that is the destination's,
	// whether the object names it or not.
	id object.ID
	// pointer is the field: a JSON pointer, in which items that have names stand by
	// their names, see steps.
	pointer string
	// key is what stands in front of the value in its line, see keysInFront; empty if the
	// value is all that the field holds.
	key string
	// position counts, from 0: PEM blocks within the field, and the random values of
	// one kind that have their home in this field, behind one key.
	position int
	// unseen says that the value is printed nowhere, and what is made of it is printed
	// here. Such values are counted by themselves.
	unseen bool
	// rank says how good a place it is; the smallest is the home of a value.
	rank int
}

// The ranks of places. Those of hooks are worse by rankHook.
const (
	rankSecret   = iota // all that a field in the data of a Secret holds
	rankInSecret        // in a Secret
	rankAnywhere
	rankHook
	rankInside   = 2 * rankHook // in what a hash is made of
	rankUnsteady = 4 * rankHook // where another value stands in the next render
)

// compare orders the places of one value; the home is the first.
func (h home) compare(other home) int {
	return cmp.Or(
		cmp.Compare(h.rank, other.rank),
		h.id.Compare(other.id),
		strings.Compare(h.pointer, other.pointer),
		strings.Compare(h.key, other.key),
		cmp.Compare(h.position, other.position),
	)
}

// identity returns the parts of an identity that are about the place. The rank is none
// of them: a value that is printed at another place too does not change as long as its
// home is the same.
func (h home) identity() []string {
	within := "#" + strconv.Itoa(h.position)
	if h.unseen {
		within = "%" + strconv.Itoa(h.position)
	}
	if h.key != "" {
		within += " " + h.key
	}
	return []string{h.id.Group, h.id.Kind, h.id.Namespace, h.id.Name, h.pointer, within}
}

// name is Name.
func (h home) name() string { return prefix(h.id) + h.pointer }

// Name returns how people call a field: "Secret/db/data/password", that is the kind,
// with the API group behind a dot where it has one, the name and the path. A namespace
// stands in front of the name where it is not the destination's:
// "Secret/shop/db/data/password". An item of a list stands by its index, or, where all
// items of the list have a name of their own, by that in brackets:
// "Deployment.apps/web/spec/template/spec/containers/[web]/env/[TOKEN]/value". As in a
// JSON pointer "/" and "~" in a part are written "~1" and "~0".
//
// It is the name in Options.Fields, where all random values of a field share it. The
// id is one whose namespace is empty if it is the destination's.
//
// Fields of a Secret's stringData go by the name that they have in its data, where the
// cluster puts them. In place of a name that an object does not have stands its
// generateName with "%" behind it, which no name holds.
func Name(id object.ID, path []any) string {
	return prefix(id) + object.Pointer(stored(id, path)...)
}

// stored returns the path that a field has in the cluster.
func stored(id object.ID, path []any) []any {
	if id.Group == "" && id.Kind == "Secret" && len(path) > 1 && path[0] == "stringData" {
		path = slices.Clone(path)
		path[0] = "data"
	}
	return path
}

func prefix(id object.ID) string {
	kind := id.Kind
	if id.Group != "" {
		kind += "." + id.Group
	}
	name := object.Pointer(id.Name)
	if id.Namespace != "" {
		name = object.Pointer(id.Namespace, id.Name)
	}
	return kind + name
}

// steps returns the path with names in place of the indexes of lists where it can: a
// chart that adds a container or a variable in front moves indexes, and no password
// may change with it.
func (x *index) steps(root any, path []any) []any {
	out := make([]any, len(path))
	for i, step := range path {
		out[i] = step
		switch at := root.(type) {
		case map[string]any:
			key, _ := step.(string)
			root = at[key]
		case []any:
			index, _ := step.(int)
			root = nil
			if index < len(at) {
				if names := x.itemNames(at); names != nil {
					out[i] = "[" + names[index] + "]"
				}
				root = at[index]
			}
		}
	}
	return out
}

// itemNames returns the names of the items of a list that is not empty, or nil unless
// all of them are mappings whose names differ.
func (x *index) itemNames(list []any) []string {
	if names, ok := x.names[&list[0]]; ok {
		return names
	}
	seen := map[string]bool{}
	var names []string
	for _, item := range list {
		name := object.Text(object.Field(item, "name"))
		if name == "" || seen[name] || holdsFrame(name) {
			names = nil
			break
		}
		seen[name] = true
		names = append(names, name)
	}
	x.names[&list[0]] = names
	return names
}

// owner returns the object in a document that a path leads into, and the path inside
// of it: that of an item where the document is a List.
func owner(document map[string]any, path []any) (object.Object, []any) {
	if isList(document) && len(path) > 1 && path[0] == "items" {
		index, isIndex := path[1].(int)
		if items := object.Items(document["items"]); isIndex && index < len(items) {
			if item := object.Mapping(items[index]); item != nil {
				return object.Object{Value: item}, path[2:]
			}
		}
	}
	return object.Object{Value: document}, path
}

func isList(document map[string]any) bool {
	return strings.HasSuffix(object.Text(document["kind"]), "List")
}

// id returns the id of an object as it is part of identities.
func (s Scope) id(o object.Object) object.ID {
	id := o.ID()
	if id.Namespace == s.Namespace {
		id.Namespace = ""
	}
	if generated := o.GenerateName(); id.Name == "" && generated != "" {
		id.Name = generated + "%"
	}
	return id
}

// place returns the place of a field of a document. The rank is that of something that
// fills the field if whole is set.
func (x *index) place(document map[string]any, path []any, whole bool) home {
	o, path := owner(document, path)
	h := home{id: x.scope.id(o), rank: rankAnywhere}
	h.pointer = object.Pointer(stored(h.id, x.steps(o.Value, path))...)
	if o.IsSecret() {
		h.rank = rankInSecret
		if whole && len(path) == 2 && (path[0] == "data" || path[0] == "stringData") {
			h.rank = rankSecret
		}
	}
	if _, isHook := o.Annotations()["helm.sh/hook"]; isHook {
		h.rank += rankHook
	}
	return h
}

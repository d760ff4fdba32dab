package plugin

import (
	"maps"
	"slices"

	"hallmark.dev/hallmark/internal/object"
	"hallmark.dev/hallmark/internal/yamldoc"
	"hallmark.dev/hallmark/plugin/stamp"
)

// Manifests returns the objects as compact JSON, one string for each: the form
// in which Argo CD takes them from a plugin, and parses faster than YAML.
func (r *Result) Manifests() []string {
	return joinRevision(printManifests(r.Objects), r.Provenance.SourceRevision)
}

// manifest is a printed object without the value of its source revision, which
// is the one thing in it that moves with every commit. One that has no such
// annotation is all head.
type manifest struct{ head, tail string }

// printManifests prints the objects, spread over the processors.
func printManifests(objects []object.Object) []manifest {
	out := make([]manifest, len(objects))
	object.Spread(len(objects), func() func(int) {
		var buf []byte // grows to the largest object once, not for each
		return func(i int) {
			var cut int
			buf, cut = printManifest(buf[:0], objects[i])
			out[i] = manifest{string(buf[:cut]), string(buf[cut:])}
		}
	})
	return out
}

// printManifest appends an object to dst and returns where in it the revision
// has its place.
func printManifest(dst []byte, o object.Object) (printed []byte, cut int) {
	cut = -1
	// The way to the revision, printed key by key; everything beside it is
	// printed whole.
	way := []string{"metadata", "annotations", stamp.AnnotationSourceRevision}
	var walk func(m map[string]any, depth int)
	walk = func(m map[string]any, depth int) {
		dst = append(dst, '{')
		for i, key := range slices.Sorted(maps.Keys(m)) {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(yamldoc.AppendJSON(dst, key, ""), ':')
			inner, isMap := m[key].(map[string]any)
			switch last := depth == len(way)-1; {
			case depth == 0 && key != way[0]:
				dst = appendBody(dst, o, key)
			case key != way[depth], !last && !isMap:
				dst = yamldoc.AppendJSON(dst, m[key], "")
			case last:
				cut = len(dst)
			default:
				walk(inner, depth+1)
			}
		}
		dst = append(dst, '}')
	}
	walk(o.Value, 0)
	if cut < 0 {
		cut = len(dst)
	}
	return dst, cut
}

// bodyMemo is the key of a printed field beside the metadata.
type bodyMemo struct{ field string }

// appendBody appends a field of the object that no stamp is in. That of an object
// which is kept from render to render is printed once: the definitions of a chart
// are most of what many charts give.
func appendBody(dst []byte, o object.Object, field string) []byte {
	if o.Body == nil {
		return yamldoc.AppendJSON(dst, o.Value[field], "")
	}
	if known, found := o.Body.Get(bodyMemo{field}); found {
		return append(dst, known.([]byte)...)
	}
	printed := yamldoc.AppendJSON(nil, o.Value[field], "")
	o.Body.Set(bodyMemo{field}, printed)
	return append(dst, printed...)
}

func joinRevision(manifests []manifest, revision string) []string {
	quoted := string(yamldoc.AppendJSON(nil, revision, ""))
	out := make([]string, len(manifests))
	for i, m := range manifests {
		if out[i] = m.head; m.tail != "" {
			out[i] = m.head + quoted + m.tail
		}
	}
	return out
}

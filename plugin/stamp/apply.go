package stamp

import (
	"maps"

	"hallmark.dev/hallmark/internal/object"
)

// Provenance is what a stamp says about the render as a whole.
type Provenance struct {
	// InputsHash is what [InputsHash] returned.
	InputsHash string
	// SourceRevision is the commit that was rendered, or "" when unknown; the
	// annotation is left out then.
	SourceRevision string
	// Renderer is the renderer's name and version, "helm3/v3.22.0".
	Renderer string
}

// Result is a stamped set.
type Result struct {
	// Objects are the stamped objects, in the order given. They share all data
	// but the maps that hold the annotations with the objects that were given.
	Objects []object.Object
	// RenderHash is "sha256:<hex>" of the set.
	RenderHash string
	// ObjectHashes has "sha256:<hex>" of each object, in the order given.
	ObjectHashes []string
}

// Apply stamps objs. The objects that it is given are only read, so a caller
// that holds on to them never sees annotations appear. A stamp that an object
// already has is replaced.
//
// An error lists every object that cannot be stamped, with its file: metadata or
// metadata.annotations that is not a map, a value that has no JSON form. It
// holds no value of an object.
func Apply(objs []object.Object, p Provenance, opts Options) (Result, error) {
	hashes, err := objectHashes(objs, opts)
	if err != nil {
		return Result{}, err
	}
	result := Result{
		Objects:      make([]object.Object, len(objs)),
		RenderHash:   setHash(objs, hashes),
		ObjectHashes: hashes,
	}
	for i, o := range objs {
		stamp := map[string]any{
			AnnotationObjectHash: hashes[i],
			AnnotationRenderHash: result.RenderHash,
			AnnotationInputsHash: p.InputsHash,
			AnnotationRenderer:   p.Renderer,
		}
		if p.SourceRevision != "" {
			stamp[AnnotationSourceRevision] = p.SourceRevision
		}
		result.Objects[i] = restamp(o, stamp)
	}
	return result, nil
}

// Strip returns o without a stamp; annotations and metadata that are empty then
// are left out. o is only read.
func Strip(o object.Object) object.Object { return restamp(o, nil) }

// restamp returns o with stamp in place of the stamp that it has. Metadata or
// annotations of the wrong type are returned as they are; Apply has refused them
// before.
func restamp(o object.Object, stamp map[string]any) object.Object {
	meta, err := asMap("metadata", o.Value["metadata"])
	if err != nil {
		return o
	}
	old, err := asMap("metadata.annotations", meta["annotations"])
	if err != nil {
		return o
	}
	annotations := maps.Clone(without(old, isStamp))
	if annotations == nil {
		annotations = make(map[string]any, len(stamp))
	}
	maps.Copy(annotations, stamp)
	if meta = maps.Clone(meta); meta == nil {
		meta = make(map[string]any, 1)
	}
	set(meta, "annotations", annotations)
	o.Value = maps.Clone(o.Value)
	set(o.Value, "metadata", meta)
	o.Memo = nil // it was about the Value without these annotations
	return o
}

package gate

import (
	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/internal/object"
)

// Expand replaces every List by its items, in place and in order, and drops
// the lists whose items are null. Items keep the origin of their list; their
// values are shared with it.
//
// As for Argo CD, a List is any object whose top-level "items" is an array,
// whatever its kind, and a null list one whose "items" is null and that has
// neither spec nor status.
//
// It is an error when an item is not an object, or is a List itself: Argo CD
// expands one level, and would expand the second after the objects have been
// stamped, so that the inner ones arrived without a stamp.
func Expand(objs []object.Object) ([]object.Object, error) {
	var faults diag.List
	expanded := make([]object.Object, 0, len(objs))
	for _, obj := range objs {
		items, isList := obj.Value["items"].([]any)
		if !isList {
			if !isNullList(obj) {
				expanded = append(expanded, obj)
			}
			continue
		}
		report := func(index int, fact string) {
			at := quotedPointer([]step{{key: "items"}, {index: index, inArray: true}})
			faults.Addf(obj.Origin, obj.Line, 0, "%s: %s: %s", describe(obj), at, fact)
		}
		for i, item := range items {
			value, isObject := item.(map[string]any)
			if !isObject {
				report(i, "got "+typeName(item)+", want object")
				continue
			}
			child := object.Object{Value: value, Origin: obj.Origin, Line: obj.Line}
			if _, nested := value["items"].([]any); nested || isNullList(child) {
				report(i, "got a List inside a List, want a single object")
				continue
			}
			expanded = append(expanded, child)
		}
	}
	if err := faults.Err(); err != nil {
		return nil, err
	}
	return expanded, nil
}

func isNullList(obj object.Object) bool {
	for _, field := range []string{"spec", "status"} {
		if _, found := obj.Value[field]; found {
			return false
		}
	}
	items, found := obj.Value["items"]
	return found && items == nil
}

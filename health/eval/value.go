package eval

import (
	"fmt"
	"math"
	"reflect"
	"slices"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// maxWhole is the largest number up to which Lua holds every whole number.
const maxWhole = 1<<53 - 1

// seen is a copy of an object as Lua sees it: without nulls, with one kind of
// number.
func seen(object map[string]any) map[string]any {
	out := make(map[string]any, len(object))
	for key, value := range object {
		if value = seenValue(value); value != nil {
			out[key] = value
		}
	}
	return out
}

func seenValue(value any) any {
	switch v := value.(type) {
	case map[string]any:
		return seen(v)
	case []any:
		out := make([]any, 0, len(v))
		for _, item := range v {
			if item = seenValue(item); item != nil {
				out = append(out, item)
			}
		}
		return out
	case int:
		return number(float64(v))
	case int32:
		return number(float64(v))
	case int64:
		return number(float64(v))
	case float64:
		return number(v)
	case bool, string:
		return v
	}
	return nil // Argo CD gives nil to a script for anything else
}

func number(n float64) any {
	if n == math.Trunc(n) && math.Abs(n) <= maxWhole {
		return int64(n)
	}
	return n
}

// adapter makes values of CEL from those of an object. Of an empty list or map it
// makes one that is both, and it visits the keys of a map in their order.
type adapter struct{}

func (a adapter) NativeToValue(value any) ref.Val {
	switch v := value.(type) {
	case map[string]any:
		if len(v) == 0 {
			return nothing{}
		}
		return ordered{types.NewStringInterfaceMap(a, v)}
	case []any:
		if len(v) == 0 {
			return nothing{}
		}
		return types.NewDynamicList(a, v)
	}
	return types.DefaultTypeAdapter.NativeToValue(value)
}

// ordered is a map whose iterator visits the keys, which are texts, in their order.
type ordered struct{ traits.Mapper }

func (o ordered) Iterator() traits.Iterator {
	var keys []string
	for it := o.Mapper.Iterator(); it.HasNext() == types.True; {
		keys = append(keys, fmt.Sprint(it.Next().Value()))
	}
	slices.Sort(keys)
	return types.NewStringList(types.DefaultTypeAdapter, keys).Iterator()
}

// nothing is an empty collection: a list and a map.
type nothing struct{}

var (
	_ traits.Lister = nothing{}
	_ traits.Mapper = nothing{}
)

func (nothing) Type() ref.Type    { return types.ListType }
func (nothing) Value() any        { return []any{} }
func (nothing) Size() ref.Val     { return types.IntZero }
func (nothing) IsZeroValue() bool { return true }
func (nothing) Contains(v ref.Val) ref.Val {
	if types.IsUnknownOrError(v) {
		return v
	}
	return types.False
}

func (nothing) Get(index ref.Val) ref.Val { return types.NewErr("no such key: %v", index) }

func (nothing) Find(ref.Val) (ref.Val, bool) { return nil, false }

func (nothing) Iterator() traits.Iterator {
	return types.NewDynamicList(types.DefaultTypeAdapter, []any{}).Iterator()
}

func (nothing) Equal(other ref.Val) ref.Val {
	switch other := other.(type) {
	case traits.Lister:
		return types.Bool(other.Size() == types.IntZero)
	case traits.Mapper:
		return types.Bool(other.Size() == types.IntZero)
	}
	return types.False
}

func (nothing) Add(other ref.Val) ref.Val {
	if list, ok := other.(traits.Lister); ok {
		return list
	}
	return types.MaybeNoSuchOverloadErr(other)
}

func (nothing) ConvertToNative(target reflect.Type) (any, error) {
	switch target.Kind() {
	case reflect.Slice, reflect.Map, reflect.Interface:
		return types.NewDynamicList(types.DefaultTypeAdapter, []any{}).ConvertToNative(target)
	}
	return nil, fmt.Errorf("an empty collection is no %s", target)
}

func (n nothing) ConvertToType(target ref.Type) ref.Val {
	if target == types.ListType || target == types.MapType {
		return n
	}
	return types.NewErr("an empty collection is no %s", target.TypeName())
}

package plugin

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/internal/object"
	"hallmark.dev/hallmark/internal/redact"
	"hallmark.dev/hallmark/plugin/policy"
	"hallmark.dev/hallmark/plugin/stamp"
)

// maxOutside bounds the warnings about decrypted values outside of Secrets.
const maxOutside = 10

// outsideSearch is a sort of secret values that objects are searched for.
type outsideSearch struct {
	known   *redact.Values
	what    string // "decrypted"
	setting string // of the rule: policy.Deny, Warn or Allow
	field   string // where the rule has it
}

// outsideSecrets looks for decrypted and derived values in objects that are no Secret,
// and in what a Secret has besides its data: whoever may read the object, or the Argo
// CD page of it, reads them, and they enter the hash as they are. By the rule they are
// a fault, a warning or nothing.
func (s *session) outsideSecrets(out *Output, objects []object.Object) error {
	var faults []error
	if d := s.rule.Decryption; d != nil && len(s.tree.Opened()) > 0 {
		faults = append(faults, s.outside(out, objects, outsideSearch{
			&s.secrets.decrypted, "decrypted", d.OutsideSecrets, "decryption.outsideSecrets",
		}))
	}
	if d := s.rule.Derivation; d != nil && len(out.Derived) > 0 {
		faults = append(faults, s.outside(out, objects, outsideSearch{
			&s.secrets.derived, "derived", d.OutsideSecrets, "derivation.outsideSecrets",
		}))
	}
	return errors.Join(faults...)
}

func (s *session) outside(out *Output, objects []object.Object, search outsideSearch) error {
	if search.setting == policy.Allow {
		return nil
	}
	if search.known.Full() {
		return s.unsearched(out, search)
	}
	found := make([][]string, len(objects))
	object.Spread(len(objects), func() func(int) {
		return func(i int) {
			value := objects[i].Value
			if objects[i].IsSecret() {
				value = withoutData(value)
			}
			found[i] = secretFields(search.known, value, nil)
		}
	})
	var faults diag.List
	for i, fields := range found {
		for _, field := range fields {
			where := "and the object is no Secret"
			if objects[i].IsSecret() {
				where = "outside of the data of the Secret"
			}
			faults.Addf(objects[i].Origin, objects[i].Line, 0, "%s: field %q holds a %s value, %s", objects[i].ID(), field, search.what, where)
		}
	}
	if len(faults) == 0 {
		return nil
	}
	if search.setting == policy.Deny {
		return diag.WithHint(errors.Join(faults.Err(), fmt.Errorf("that is not allowed by %s", s.rule)),
			fmt.Sprintf("put the value into a Secret and refer to that, or let the platform team set %s in the rule", search.field))
	}
	for i, fault := range faults {
		if i == maxOutside {
			out.Warnings = append(out.Warnings, fmt.Sprintf("%d more fields hold a %s value outside of the data of Secrets", len(faults)-i, search.what))
			break
		}
		out.Warnings = append(out.Warnings, fault.Error())
	}
	return nil
}

// unsearched says that the objects could not be searched.
func (s *session) unsearched(out *Output, search outsideSearch) error {
	if search.setting == policy.Deny {
		return &redact.FullError{Msg: fmt.Sprintf("%s, and %s allows none", redact.Unsearched, s.rule)}
	}
	out.Warnings = append(out.Warnings, redact.Unsearched)
	return nil
}

// withoutData is a Secret with the names of its entries only.
func withoutData(secret map[string]any) map[string]any {
	out := maps.Clone(secret)
	for _, field := range []string{"data", "stringData"} {
		if entries, ok := secret[field].(map[string]any); ok {
			out[field] = make(map[string]any, len(entries))
			for name := range entries {
				out[field].(map[string]any)[name] = nil
			}
			continue
		}
		delete(out, field)
	}
	return out
}

// secretFields returns the pointers of what holds a secret below v. A key that does
// is told by what it stands in.
func secretFields(known *redact.Values, v any, at stamp.Path) (fields []string) {
	switch v := v.(type) {
	case string:
		if known.In(v) {
			return []string{at.Pointer()}
		}
	case int64, float64:
		if known.In(fmt.Sprint(v)) {
			return []string{at.Pointer()}
		}
	case []any:
		for i, e := range v {
			fields = append(fields, secretFields(known, e, append(slices.Clip(at), i))...)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if known.In(key) {
				fields = append(fields, at.Pointer())
				continue
			}
			fields = append(fields, secretFields(known, v[key], append(slices.Clip(at), key))...)
		}
	}
	return fields
}

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

const hintOutside = "put the value into a Secret and refer to that, or let the platform team set decryption.outsideSecrets in the rule"

// outsideSecrets looks for decrypted values in objects that are no Secret, and in
// what a Secret has besides its data: whoever may read the object, or the Argo CD
// page of it, reads them, and they enter the hash as they are. By the rule they are
// a fault, a warning or nothing.
func (s *session) outsideSecrets(out *Output, objects []object.Object) error {
	if len(s.tree.Opened()) == 0 || s.rule.Decryption == nil || s.rule.Decryption.OutsideSecrets == policy.Allow {
		return nil
	}
	if s.secrets.Full() {
		return s.unsearched(out)
	}
	found := make([][]string, len(objects))
	object.Spread(len(objects), func() func(int) {
		return func(i int) {
			value := objects[i].Value
			if objects[i].IsSecret() {
				value = withoutData(value)
			}
			found[i] = s.secretFields(value, nil)
		}
	})
	var faults diag.List
	for i, fields := range found {
		for _, field := range fields {
			where := "and the object is no Secret"
			if objects[i].IsSecret() {
				where = "outside of the data of the Secret"
			}
			faults.Addf(objects[i].Origin, objects[i].Line, 0, "%s: field %q holds a decrypted value, %s", objects[i].ID(), field, where)
		}
	}
	if len(faults) == 0 {
		return nil
	}
	if s.rule.Decryption.OutsideSecrets == policy.Deny {
		return diag.WithHint(errors.Join(faults.Err(), fmt.Errorf("that is not allowed by %s", s.rule)), hintOutside)
	}
	for i, fault := range faults {
		if i == maxOutside {
			out.Warnings = append(out.Warnings, fmt.Sprintf("%d more fields hold a decrypted value outside of the data of Secrets", len(faults)-i))
			break
		}
		out.Warnings = append(out.Warnings, fault.Error())
	}
	return nil
}

// unsearched says that the objects could not be searched.
func (s *session) unsearched(out *Output) error {
	if s.rule.Decryption.OutsideSecrets == policy.Deny {
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
func (s *session) secretFields(v any, at stamp.Path) (fields []string) {
	switch v := v.(type) {
	case string:
		if s.secrets.In(v) {
			return []string{at.Pointer()}
		}
	case int64, float64:
		if s.secrets.In(fmt.Sprint(v)) {
			return []string{at.Pointer()}
		}
	case []any:
		for i, e := range v {
			fields = append(fields, s.secretFields(e, append(slices.Clip(at), i))...)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if s.secrets.In(key) {
				fields = append(fields, at.Pointer())
				continue
			}
			fields = append(fields, s.secretFields(v[key], append(slices.Clip(at), key))...)
		}
	}
	return fields
}

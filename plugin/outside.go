package plugin

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/internal/object"
	"hallmark.dev/hallmark/plugin/policy"
	"hallmark.dev/hallmark/plugin/stamp"
)

// maxOutside bounds the warnings about decrypted values outside of Secrets.
const maxOutside = 10

const hintOutside = "put the value into a Secret and refer to that, or let the platform team set decryption.outsideSecrets in the rule"

// outsideSecrets looks for decrypted values in objects that are no Secret: whoever
// may read the object reads them, and its hash is a plain one. By the rule they
// are a fault, a warning or nothing.
func (s *session) outsideSecrets(out *Output, objects []object.Object) error {
	if s.tree.Opened() == 0 || s.rule.Decryption == nil || s.rule.Decryption.OutsideSecrets == policy.Allow {
		return nil
	}
	found := make([][]string, len(objects))
	object.Spread(len(objects), func() func(int) {
		return func(i int) {
			if !objects[i].IsSecret() {
				found[i] = s.secretFields(objects[i].Value, nil)
			}
		}
	})
	var faults diag.List
	for i, fields := range found {
		for _, field := range fields {
			faults.Addf(objects[i].Origin, objects[i].Line, 0, "%s: field %q holds a decrypted value, and the object is no Secret", objects[i].ID(), field)
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
			out.Warnings = append(out.Warnings, fmt.Sprintf("%d more fields hold a decrypted value in an object that is no Secret", len(faults)-i))
			break
		}
		out.Warnings = append(out.Warnings, fault.Error())
	}
	return nil
}

// secretFields returns the pointers of the strings below v that hold a secret.
func (s *session) secretFields(v any, at stamp.Path) (fields []string) {
	switch v := v.(type) {
	case string:
		if s.secrets.In(v) {
			return []string{at.Pointer()}
		}
	case []any:
		for i, e := range v {
			fields = append(fields, s.secretFields(e, append(slices.Clip(at), i))...)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			fields = append(fields, s.secretFields(v[key], append(slices.Clip(at), key))...)
		}
	}
	return fields
}

package corpus

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// conditions gives an object conditions of all shapes.
func (m *maker) conditions(object map[string]any) {
	ready := map[string]any{"type": "Ready", "status": "True", "reason": "Ready", "message": "ready"}
	conditions := func(list any) map[string]any {
		return with(object, map[string]any{"conditions": list}, "status")
	}
	m.add(EmptyList, "", "status.conditions: []", conditions([]any{}))
	m.add(Absent, "", "status.conditions: null", conditions(nil))
	for _, v := range others([]any{}) {
		m.add(Refused, "", "status.conditions: "+v.name, conditions(v.value))
	}
	for _, v := range others(map[string]any{}) {
		m.add(Refused, "", "status.conditions[0]: "+v.name, conditions([]any{v.value}))
	}
	m.add(Hole, "", "status.conditions: [null]", conditions([]any{nil}))
	m.add(Absent, "", "status.conditions[0]: {}", conditions([]any{map[string]any{}}))
	m.add(Another, "", "one condition", conditions([]any{ready}))
	for _, key := range slices.Sorted(maps.Keys(ready)) {
		entry := without(ready, key)
		m.add(Absent, "", "one condition without "+key, conditions([]any{entry}))
		m.add(Absent, "", "one condition with "+key+": null", conditions([]any{with(ready, nil, key)}))
		for _, v := range others("") {
			m.add(Refused, "", "one condition with "+key+": "+v.name, conditions([]any{with(ready, v.value, key)}))
		}
	}
	for _, status := range []string{"False", "Unknown", "", "true"} {
		m.add(Another, "", fmt.Sprintf("one condition with status %q", status), conditions([]any{with(ready, status, "status")}))
	}
	m.add(Double, "", "two conditions of one type", conditions([]any{ready, with(ready, "False", "status")}))
	m.add(Hole, "", "two conditions with a null between", conditions([]any{ready, nil, with(ready, "Other", "type")}))
	m.add(Message, "", "one condition with an unusual message", conditions([]any{with(ready, unusual, "message")}))
}

// lists changes the lists of an object as lists.
func (m *maker) lists(object map[string]any) {
	lists, rotations := 0, 0
	visitObject(object, func(p place, v any) {
		list, ok := v.([]any)
		if !ok || lists >= maxLists {
			return
		}
		lists++
		if p[0] == "status" {
			m.alone(object, p)
			m.order(object, p, list, &rotations)
			m.opposite(object, p, list)
		}
		if len(list) == 0 || p[0] == "metadata" {
			return
		}
		m.add(Hole, p.String(), " with a null in it", with(object, slices.Insert(slices.Clone(list), 1, nil), p...))
		m.grow(object, p, list)
	})
}

// alone leaves nothing in the status but one empty list.
func (m *maker) alone(object map[string]any, p place) {
	for _, step := range p {
		if _, ok := step.(int); ok {
			return // a list in an entry of another
		}
	}
	status := with(map[string]any{}, []any{}, p[1:]...)
	m.add(EmptyList, p.String(), ": [], and nothing else in the status", with(object, status, "status"))
}

func (m *maker) order(object map[string]any, p place, list []any, rotations *int) {
	var seen [][sha256.Size]byte
	reorder := func(what string, to []any) {
		if same := fingerprint(to); !slices.Contains(seen, same) && *rotations < maxRotations {
			*rotations++
			seen = append(seen, same)
			m.add(Order, p.String(), " "+what, with(object, to, p...))
		}
	}
	seen = append(seen, fingerprint(list))
	reversed := slices.Clone(list)
	slices.Reverse(reversed)
	reorder("reversed", reversed)
	for i := 1; i < len(list); i++ {
		reorder(fmt.Sprintf("rotated by %d", i), slices.Concat(list[i:], list[:i]))
	}
}

// opposite adds a second entry of one type which says the opposite, behind and in
// front of the first.
func (m *maker) opposite(object map[string]any, p place, list []any) {
	for i, item := range list[:min(len(list), maxItems)] {
		entry, ok := item.(map[string]any)
		if !ok || entry["type"] == nil {
			continue
		}
		opposite := "True"
		if entry["status"] == "True" {
			opposite = "False"
		}
		second := with(entry, opposite, "status")
		m.add(Double, p.String(), fmt.Sprintf(" with a second of the type of [%d] behind it", i), with(object, append(slices.Clone(list), second), p...))
		m.add(Double, p.String(), fmt.Sprintf(" with a second of the type of [%d] in front of it", i), with(object, slices.Concat([]any{second}, list), p...))
	}
}

// grow repeats the entries of a list. Each path is grown once, indexes aside.
func (m *maker) grow(object map[string]any, p place, list []any) {
	path := make(place, len(p))
	for i, step := range p {
		if _, ok := step.(int); ok {
			step = 0
		}
		path[i] = step
	}
	if m.grown[path.String()] || len(m.grown) >= maxGrown {
		return
	}
	m.grown[path.String()] = true
	long := make([]any, 0, grown+len(list))
	for len(long) < grown {
		long = append(long, list...)
	}
	m.add(Large, p.String(), fmt.Sprintf(" of %d entries", grown), with(object, long[:grown], p...))
}

// fields changes each field of an object by itself.
func (m *maker) fields(object map[string]any) {
	fields := 0
	visitObject(object, func(p place, v any) {
		if top := p[0]; top == "apiVersion" || top == "kind" || top == "metadata" || fields >= maxFields || len(p) == 1 && top == "status" {
			return // whole has seen to metadata and the status itself
		}
		fields++
		change := func(variation Variation, s sample) {
			m.add(variation, p.String(), ": "+s.name, with(object, s.value, p...))
		}
		// A schema often requires what is in the spec, as no status is required.
		gone := Absent
		if p[0] != "status" {
			gone = Refused
		}
		if _, ok := p[len(p)-1].(string); ok {
			m.add(gone, p.String(), " removed", without(object, p...))
			change(gone, sample{"null", nil})
		}
		if text, ok := v.(string); ok && strings.EqualFold(fmt.Sprint(p[len(p)-1]), "message") && text != "" {
			change(Message, sample{"unusual characters", unusual})
		}
		for _, s := range emptied(v) {
			if _, ok := v.([]any); ok {
				change(Absent, s)
			} else {
				change(gone, s)
			}
		}
		for _, s := range another(v) {
			change(Another, s)
		}
		for _, s := range others(v) {
			change(Refused, s)
		}
	})
}

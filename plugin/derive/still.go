package derive

import (
	"encoding/base64"
	"fmt"
	"regexp"
	"slices"

	"hallmark.dev/hallmark/internal/object"
)

// Renders.Still shows what of the difference between two renders is one of the time or of
// an order, and what of base64 the plain render shows by chance.

// fixedBy names what made two renders of a value differ: they have the same characters
// in two orders, or they differ in what looks like a time. It is empty where it is
// neither.
func fixedBy(plain, still any) string {
	one, other := fmt.Sprint(plain), fmt.Sprint(still)
	a, b := []rune(one), []rune(other)
	slices.Sort(a)
	slices.Sort(b)
	switch {
	case one == other:
		return "now" // a time that was the same by chance
	case slices.Equal(a, b):
		return "order"
	case timeless(one) == timeless(other):
		return "now"
	}
	before, errBefore := base64.StdEncoding.DecodeString(one)
	after, errAfter := base64.StdEncoding.DecodeString(other)
	if errBefore != nil || errAfter != nil || len(before) == 0 || len(after) == 0 {
		return ""
	}
	return fixedBy(string(before), string(after))
}

// timePart is a word or a sign that a time can consist of, or a digest where it stands
// beside one.
var timePart = regexp.MustCompile(`(?i)\b(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?\b` +
	`|\b(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:tember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b` +
	`|\b(?:[0-9a-f]{128}|[0-9a-f]{64}|[0-9a-f]{40})\b` +
	`|\b(?:am|pm|utc|gmt|local|[a-z]{2,4}t)\b|[0-9]+(?:[tz]\b|st\b|nd\b|rd\b|th\b|mo|[ydw]|[hmsnµu]s?|pm|am)?`)

var timeSigns = regexp.MustCompile(`#(?:[-+.,:/ ]*(?:m=)?[-+.,:/ ]*#)*`)

// timeless returns a text with one sign in place of each time, or number of one.
func timeless(s string) string {
	return timeSigns.ReplaceAllString(timePart.ReplaceAllString(s, "#"), "#")
}

// fixedBy names what made two renders of a field differ.
func (r *resolver) fixedBy(path []any, plain, still any) string {
	at := Field{Document: r.document, Path: path}
	if slices.ContainsFunc(r.renders.Ordered, func(f Field) bool { return f.holds(at) || at.holds(f) }) {
		return "order"
	}
	return fixedBy(plain, still)
}

// OnlyTimeDiffers reports whether two values differ in nothing but what looks like a time,
// or a number of one.
func OnlyTimeDiffers(one, other any) bool { return fixedBy(one, other) == "now" }

// stillAt returns a field of Still, or nil if it is not right in each of its renders.
func (r *resolver) stillAt(path []any, active bool, right func(any) bool) any {
	if !active {
		return nil
	}
	r.loadStills()
	one, other := r.at(r.stills[0], path), r.at(r.stills[1], path)
	if one == nil || !right(one) || !right(other) {
		return nil
	}
	return one
}

func (r *resolver) loadStills() {
	if r.stills != nil {
		return
	}
	r.stills = make([]Render, 2)
	for i := range r.stills {
		if r.renders.Still == nil || r.err != nil {
			break
		}
		still, err := r.renders.Still()
		if err != nil {
			r.err = err
			break
		}
		if at, _ := differ(r.renders.Plain.Documents, still.Documents); at < 0 {
			r.stills[i] = still
		}
	}
}

// at returns the field at a path of the document at hand, or nil.
func (r *resolver) at(render Render, path []any) any {
	if r.document >= len(render.Documents) {
		return nil
	}
	value, _ := object.Lookup(render.Documents[r.document].Value, path)
	return value
}

package chart

import (
	"encoding/base64"
	"fmt"
	"unicode/utf8"

	"hallmark.dev/hallmark/plugin/derive"
)

// Where what is made of a lost call stands in a field shows in a render in which the call has
// another value: that is where the field begins to differ.

// spots are the fields that depend on a lost call.
func (r *replay) spots(call int, depending fields) (spots []derive.Spot) {
	for _, f := range depending.sorted() {
		spots = append(spots, derive.Spot{Field: f, InFront: r.inFront[r.spot(call, f)]})
	}
	return spots
}

func (r *replay) spot(call int, f derive.Field) string {
	return fmt.Sprint(call, " ", where(f.Document, f.Path))
}

// offset is where in its home what is made of a lost call stands.
func (r *replay) offset(call int, depending fields) int {
	spots := r.spots(call, depending)
	return len(spots[r.resolved.Best(spots)].InFront)
}

// change is what changed from one render to another one.
type change struct {
	fields
	base, other result
}

// notes notes what stands in front of what changes in a field with some calls.
func (r *replay) notes(group []int, f derive.Field, c change) {
	at := r.spot(group[0], f)
	if _, known := r.inFront[at]; known {
		return
	}
	before, _ := c.base.at(f)
	after, _ := c.other.at(f)
	one, isText := before.(string)
	two, both := after.(string)
	if isText && both {
		r.inFront[at] = inCommon(one, two)
	}
}

// inCommon is the text in front of what differs in two texts, or in what they are the
// base64 of.
func inCommon(one, two string) string {
	decodedOne, err := base64.StdEncoding.DecodeString(one)
	decodedTwo, err2 := base64.StdEncoding.DecodeString(two)
	if err == nil && err2 == nil && utf8.Valid(decodedOne) && utf8.Valid(decodedTwo) {
		one, two = string(decodedOne), string(decodedTwo)
	}
	n := 0
	for n < min(len(one), len(two)) && one[n] == two[n] {
		n++
	}
	return one[:n]
}

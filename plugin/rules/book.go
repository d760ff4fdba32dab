package rules

import "embed"

// Each rule has two examples: <id>.bad.yaml, in which it finds something, and
// <id>.good.yaml, the same put right. They are what `hallmark lint --explain` shows,
// and tests run them.
//
//go:embed book
var book embed.FS

// Examples returns the YAML of the two examples of a rule: one in which it finds a
// fault, and the same without it.
func (r Rule) Examples() (bad, good string) {
	return r.example("bad"), r.example("good")
}

func (r Rule) example(which string) string {
	data, err := book.ReadFile("book/" + r.ID + "." + which + ".yaml")
	if err != nil { // a test keeps an example for each rule
		return ""
	}
	return string(data)
}

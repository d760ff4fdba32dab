package fields

import (
	"strings"
	"unicode"

	yamlv3 "go.yaml.in/yaml/v3"
)

// PositionIn is the place in the file of a character of a text, which is told by its
// offset in the value: a fault of an expression inside YAML points into the YAML.
// Escapes, folded lines and indentation are followed.
func (f Field) PositionIn(offset int) (line, col int) {
	if f.node == nil || f.node.Kind != yamlv3.ScalarNode || f.node.Line > len(f.r.lines) {
		return f.Position()
	}
	c := cursor{lines: f.r.lines, line: f.node.Line - 1, col: f.node.Column - 1, style: f.node.Style}
	c.begin()
	c.advance(offset)
	if c.line >= len(c.lines) {
		return f.Position()
	}
	return f.r.before + c.line + 1, c.col + 1
}

// A cursor walks over a scalar in its source; line and col are from 0, col counts
// characters.
type cursor struct {
	lines     []string
	line, col int
	style     yamlv3.Style
	indent    int // of a block scalar
}

func (c *cursor) text() []rune {
	if c.line >= len(c.lines) {
		return nil
	}
	return []rune(c.lines[c.line])
}

// begin goes from where the node is said to be to its first character.
func (c *cursor) begin() {
	switch {
	case c.style&(yamlv3.LiteralStyle|yamlv3.FoldedStyle) != 0:
		c.line++
		c.indent = -1
		for l := c.line; l < len(c.lines) && c.indent < 0; l++ {
			if strings.TrimSpace(c.lines[l]) != "" {
				c.indent = len(c.lines[l]) - len(strings.TrimLeft(c.lines[l], " "))
			}
		}
		c.col = max(c.indent, 0)
	case c.style&(yamlv3.DoubleQuotedStyle|yamlv3.SingleQuotedStyle) != 0:
		c.col++
	}
}

// advance goes over n characters of the value.
func (c *cursor) advance(n int) {
	for n > 0 && c.line < len(c.lines) {
		rest := c.text()
		rest = rest[min(c.col, len(rest)):]
		switch {
		case c.style&yamlv3.LiteralStyle != 0 && len(rest) == 0:
			c.line, c.col = c.line+1, c.indent
			n--
		case c.style&yamlv3.LiteralStyle == 0 && blank(rest):
			n -= c.fold()
		case c.style&yamlv3.DoubleQuotedStyle != 0 && rest[0] == '\\':
			if len(rest) == 1 { // the line goes on
				c.nextLine()
				continue
			}
			c.col += escapeLength(rest[1])
			n--
		case c.style&yamlv3.SingleQuotedStyle != 0 && len(rest) > 1 && rest[0] == '\'' && rest[1] == '\'':
			c.col += 2
			n--
		default:
			c.col++
			n--
		}
	}
}

func blank(text []rune) bool {
	for _, r := range text {
		if !unicode.IsSpace(r) {
			return false
		}
	}
	return true
}

// fold goes to the next line that is not empty and returns how many characters of
// the value that is: a line break is a space, an empty line a line break.
func (c *cursor) fold() int {
	empty := 0
	for c.nextLine(); c.line < len(c.lines) && blank(c.text()); c.nextLine() {
		empty++
	}
	return max(empty, 1)
}

func (c *cursor) nextLine() {
	c.line++
	c.col = 0
	for _, r := range c.text() {
		if r != ' ' && r != '\t' {
			break
		}
		c.col++
	}
}

// escapeLength is the length of an escape in double quotes, by its second
// character.
func escapeLength(r rune) int {
	switch r {
	case 'x':
		return 4
	case 'u':
		return 6
	case 'U':
		return 10
	}
	return 2
}

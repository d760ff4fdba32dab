package infer

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxDescription is how much of a description is read: lists of values stand near
// the beginning.
const maxDescription = 4 << 10

// Notes for developers that generators of schemas copy into descriptions. They show
// examples of condition types, which are not those of the kind.
var developerNotes = regexp.MustCompile(`(?s)(?:^|\s)---(?:\s.*|$)|Many \.?condition\.type values.*|This struct is intended for direct use.*`)

// prose is a description without what is not about its field, its white space made
// single.
func prose(description string) string {
	if len(description) > maxDescription {
		cut := maxDescription
		for !utf8.RuneStart(description[cut]) {
			cut--
		}
		description = description[:cut]
	}
	return strings.Join(strings.Fields(developerNotes.ReplaceAllString(description, "")), " ")
}

// What stands in front of a list of values, or of condition types.
var (
	beforeValues = regexp.MustCompile(`(?i)\b(?:` +
		`(?:one of|either of|any of)(?: the)?(?: following)?(?: states?| phases?| status(?:es)?| values?)*` +
		`|(?:possible|valid|allowed|permitted|known|expected|supported|legal)(?: enum)? (?:values?|states?|phases?|status(?:es)?|options?)(?: for \w+| of \w+)?(?: are| is| include| can be| may be)?(?: one of)?(?: the following)?` +
		`|values (?:are|include|will include)(?: the following)?` +
		`|(?:states?|phases?) (?:are|include)` +
		`|(?:can|could|may|will) be(?: one of| either)?(?: the following)?` +
		`|either` +
		`)(?: values?)?\s*[:=]?\s*`)
	beforeTypes = regexp.MustCompile(`(?i)\b(?:` +
		`(?:(?:known|possible|valid|standard|supported|current|defined|following) )?(?:\.?status\.)?conditions?(?:\.type| types?)?(?: of the \w+)?(?: are| is| include| can be| could be| may be)` +
		`|(?:known|possible|valid|supported) (?:values?|types?)(?: are| is| include)?` +
		`|type of (?:the |this )?(?:\w+ )?condition,? (?:currently|one of|can be|may be|known values are)` +
		`|one of` +
		`)(?: one of)?(?: the following)?(?: types?| values?)?\s*[:=]?\s*`)
)

// One entry of a list: quoted, or a bare word that a value can be.
var (
	entry     = regexp.MustCompile("^(?:\"([^\"]{1,64})\"|'([^']{1,64})'|`\"?([^`\"]{1,64})\"?`|([A-Za-z][A-Za-z0-9_./-]*[A-Za-z0-9]))")
	separator = regexp.MustCompile(`^(?:\s*[,;|/]\s*(?:and|or)?\s+|\s*[,;|/]\s*|\s+(?:and|or)\s+)`)
	bullet    = regexp.MustCompile("(?:^|\\s)([*-])\\s+(?:\"([^\"]{1,64})\"|'([^']{1,64})'|`\"?([^`\"]{1,64})\"?`|([A-Za-z][A-Za-z0-9_.-]*))")
	// What follows an entry of such a list: its explanation, the next one, or nothing.
	explained = regexp.MustCompile(`^\s*(?:[:,;(*–—-]|$)`)
	enclosed  = regexp.MustCompile(`\(([^()]{3,200})\)`)
)

// listed are the values that a description lists, in its order.
func listed(description string) []string {
	text := prose(description)
	for _, at := range beforeValues.FindAllStringIndex(text, -1) {
		intro, rest := text[at[0]:at[1]], text[at[1]:]
		if values := bullets(rest); len(values) > 1 {
			return values
		}
		values, bare := entries(rest, strings.HasSuffix(strings.TrimSpace(intro), "of"))
		if len(values) > 1 && (!bare || valuesFollow(intro) || slices.IndexFunc(values, isName) >= 0) {
			return values
		}
	}
	// "The phase of the set (Running, Failed or Unknown)".
	for _, m := range enclosed.FindAllStringSubmatch(text, -1) {
		values, _ := entries(m[1], false)
		if len(values) > 1 && covers(m[1], values) && slices.IndexFunc(values, func(v string) bool { return !isName(v) }) < 0 {
			return values
		}
	}
	return nil
}

// listedTypes are the condition types that a description lists.
func listedTypes(description string) []string {
	text := prose(description)
	for _, at := range beforeTypes.FindAllStringIndex(text, -1) {
		rest := text[at[1]:]
		values := bullets(rest)
		if len(values) == 0 {
			inner := strings.TrimPrefix(rest, "(")
			var bare bool
			if values, bare = entries(inner, false); bare && (len(values) < 2 || !strings.ContainsAny(text[at[0]:at[1]], ":=")) {
				continue
			}
		}
		if len(values) > 0 && slices.IndexFunc(values, func(v string) bool { return !isName(v) }) < 0 {
			return values
		}
	}
	return nil
}

// namedTypes are the types that a description names in passing: in quotation marks
// any that the word lists know, and as a bare word within a sentence those that are
// usual and written as no other word is.
func namedTypes(description string) []string {
	text := prose(description)
	var found []string
	for _, at := range mention.FindAllStringSubmatchIndex(text, -1) {
		name, quoted := text[at[2]:at[3]], strings.ContainsAny(text[at[0]:at[2]], "`\"'")
		if !isName(name) || polarityOf(name) == unclear {
			continue
		}
		before := strings.TrimRight(text[:at[0]], " ")
		starts := before == "" || strings.HasSuffix(before, ".") || strings.HasSuffix(before, ":")
		if quoted || usualTypes[name] && !starts {
			found = unite(found, []string{name})
		}
	}
	return found
}

var (
	mention    = regexp.MustCompile("(?:^|[\\s(`\"'])([A-Z][A-Za-z]+)\\b")
	usualTypes = set("Ready Available Progressing Degraded Reconciling Stalled Synced Failed Complete")
)

// entries reads a list from the beginning of text. bare tells that an entry is a
// word without quotation marks. A list that is set off from the sentence (after "one
// of") may do with bare words of any case.
func entries(text string, loose bool) (values []string, bare bool) {
	for {
		m := entry.FindStringSubmatch(text)
		if m == nil {
			return values, bare
		}
		value := firstOf(m[1:])
		if m[4] != "" {
			if !loose && isFiller(value) {
				return values, bare
			}
			// "available/creating" and "Created/Failed" are two.
			if strings.Contains(value, "/") && !strings.Contains(value, ".") {
				for part := range strings.SplitSeq(value, "/") {
					values = unite(values, []string{part})
				}
				value = ""
			}
			bare = true
		}
		if value != "" {
			values = unite(values, []string{value})
		}
		text = text[len(m[0]):]
		next := separator.FindString(text)
		if next == "" {
			return values, bare
		}
		// After a bare word of the prose the list is at its end: "Failed or has".
		text = text[len(next):]
	}
}

func bullets(text string) []string {
	if !strings.HasPrefix(text, "*") && !strings.HasPrefix(text, "-") {
		return nil
	}
	var values []string
	for _, m := range bullet.FindAllStringSubmatchIndex(text, -1) {
		if text[m[2]] == text[0] && explained.MatchString(text[m[1]:]) {
			// Behind the mark, one of the groups is set.
			for i := 4; i < len(m); i += 2 {
				if m[i] >= 0 {
					values = unite(values, []string{text[m[i]:m[i+1]]})
				}
			}
		}
	}
	return values
}

func firstOf(groups []string) string {
	for _, g := range groups {
		if g != "" {
			return g
		}
	}
	return ""
}

// valuesFollow tells that the words before a list announce values, so that it may
// be of words in lower case.
func valuesFollow(intro string) bool {
	intro = strings.ToLower(intro)
	return strings.ContainsAny(intro, ":=") || strings.Contains(intro, "value") || strings.Contains(intro, "one of") ||
		strings.Contains(intro, "state") || strings.Contains(intro, "status")
}

// isFiller tells a word of the prose: "can be used and changed".
func isFiller(word string) bool { return fillers[strings.ToLower(word)] }

var fillers = set(`a an the this that these those it its is are was were be been if when where while set unset used
	changed updated empty nil null true false found seen any other others more than not only also in on of for to by
	with as from and or`)

// isName tells a word as identifiers are written: with an upper-case letter first.
func isName(word string) bool {
	r, _ := utf8.DecodeRuneInString(word)
	return unicode.IsUpper(r) && !strings.ContainsAny(word, " \t")
}

// covers tells that nothing else is in text than values.
func covers(text string, values []string) bool {
	for _, v := range values {
		text = strings.Replace(text, v, "", 1)
	}
	for _, word := range []string{"and", "or"} {
		text = strings.ReplaceAll(text, word, "")
	}
	return strings.Trim(text, " ,;|/`\"'") == ""
}

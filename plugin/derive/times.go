package derive

import (
	"encoding/base64"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// PrintsTime reports whether values that a field has at three times differ in nothing but
// what looks like a time, or a number of one. What a template decides by the time is the same
// at two of three times that are apart in each part: the values of each number in it have to
// be one, or three.
func PrintsTime(one, other, third any) bool {
	return printTime([]string{fmt.Sprint(one), fmt.Sprint(other), fmt.Sprint(third)})
}

func printTime(texts []string) bool {
	form := timeless(texts[0])
	if slices.ContainsFunc(texts, func(s string) bool { return timeless(s) != form }) {
		decoded := slices.Clone(texts)
		for i, s := range texts {
			text, err := base64.StdEncoding.DecodeString(s)
			if err != nil || len(text) == 0 {
				return false
			}
			decoded[i] = string(text)
		}
		return printTime(decoded)
	}
	var numbers [][]string
	for _, s := range texts {
		numbers = append(numbers, slices.DeleteFunc(timePart.FindAllString(s, -1), isWord))
	}
	count := len(numbers[0])
	if slices.ContainsFunc(numbers, func(list []string) bool { return len(list) != count }) {
		return isOneOrAll(texts) // as "1h5m" and "0s"
	}
	for i := range count {
		if !isOneOrAll([]string{numbers[0][i], numbers[1][i], numbers[2][i]}) {
			return false
		}
	}
	return true
}

// isOneOrAll reports whether texts are the same, or no two of them are.
func isOneOrAll(texts []string) bool {
	different := len(slices.Compact(slices.Sorted(slices.Values(texts))))
	return different == 1 || different == len(texts)
}

// zonePart is a zone's distance from UTC. That of one zone may be the same at two of three
// times, since there is summer time at some of them, and laws change.
const zonePart = `[-+](?:0[0-9]|1[0-4]):?(?:00|15|30|45)\b`

var zone = regexp.MustCompile("^" + zonePart)

func isWord(s string) bool { return !strings.ContainsAny(s, "0123456789") || zone.MatchString(s) }

// timePart is a word or a sign that a time can consist of, or a digest where it stands
// beside one.
var timePart = regexp.MustCompile(`(?i)` + zonePart + `|\b(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?\b` +
	`|\b(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:tember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b` +
	`|\b(?:[0-9a-f]{128}|[0-9a-f]{64}|[0-9a-f]{40})\b` +
	`|\b(?:am|pm|utc|gmt|local|[a-z]{2,4}t)\b|[0-9]+(?:[tz]\b|st\b|nd\b|rd\b|th\b|mo|[ydw]|[hmsnµu]s?|pm|am)?`)

var timeSigns = regexp.MustCompile(`#(?:[-+.,:/ ]*(?:m=)?[-+.,:/ ]*#)*`)

// timeless returns a text with one sign in place of each time, or number of one.
func timeless(s string) string {
	return timeSigns.ReplaceAllString(timePart.ReplaceAllString(s, "#"), "#")
}

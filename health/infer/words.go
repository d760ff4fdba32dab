package infer

import (
	"slices"
	"strings"
	"unicode"

	"hallmark.dev/hallmark/health"
)

// Values that say something as a whole, without what separates their words.
var (
	healthyWords = set(`ready running succeeded success successful active activated available bound complete completed
		healthy ok okay done finished synced insync uptodate established online up passed pass green operational
		normal reconciled stable serving executed issued`)
	// Steps on the way where there is something better, and Healthy where there is not.
	weakWords = set(`provisioned installed deployed initialized initialised created accepted applied configured registered
		processed connected attached joined valid validated loaded published released enabled programmed`)
	endWords = set(`succeeded success successful complete completed finished done passed pass executed processed`)

	degradedWords = set(`degraded unhealthy lost rejected denied aborted broken crashed crashloopbackoff timeout timedout
		faulted dead down offline outofservice stalled terminal red misconfigured evicted expired inaccessible critical
		incompatible fault`)
	progressingWords = set(`pending inprogress new queued scheduled submitted initial init started starting ongoing notready
		unknown unspecified rollback upgrade update`)
	suspendedWords = set(`paused suspended hibernated onhold`)
)

// Single words that say something wherever they stand.
var (
	failureWords  = set(`failed failure fail failing error errors errored invalid faulted crashed unhealthy rejected degraded`)
	workWords     = set(`pending progress wait queued unspecified`)
	negatingWords = set(`not no non without never`)
	// Words that end in -ing and tell of no work under way.
	restingWords = set(`running warning missing serving existing working nothing string setting ping failing`)
)

// meaning is what a value of a state says, "" where nothing is known. all are the
// values that the state can have.
func meaning(value string, all []string) health.Status {
	words := split(value)
	whole := strings.Join(words, "")
	switch {
	case whole == "running" && contains(all, endWords):
		return health.Progressing
	case healthyWords[whole]:
		return health.Healthy
	case weakWords[whole]:
		if !contains(all, healthyWords) {
			return health.Healthy
		}
		return ""
	case degradedWords[whole]:
		return health.Degraded
	case progressingWords[whole]:
		return health.Progressing
	case suspendedWords[whole]:
		return health.Suspended
	}
	return hint(words)
}

// hint is what single words of a value say, if they agree.
func hint(words []string) health.Status {
	fails, works := false, false
	for _, w := range words {
		switch {
		case negatingWords[w]:
			return ""
		case failureWords[w]:
			fails = true
		case workWords[w], inWork(w):
			works = true
		}
	}
	switch {
	case fails && !works:
		return health.Degraded
	case works && !fails:
		return health.Progressing
	}
	return ""
}

func inWork(word string) bool {
	return len(word) > 5 && strings.HasSuffix(word, "ing") && !restingWords[word]
}

func contains(values []string, words map[string]bool) bool {
	return slices.ContainsFunc(values, func(v string) bool { return words[strings.Join(split(v), "")] })
}

// A polarity is what the status True of a condition says.
type polarity int

const (
	unclear    polarity = iota
	summary             // the object is as it should be, in one word: Ready
	good                // a part of it is: Accepted
	partlyGood          // a part of it is, by the last word of the type: DatabaseReady
	finished            // the work has come to its end: Complete
	bad                 // Degraded
	busy                // Progressing
	held                // Suspended
)

var (
	summaryTypes = []string{"ready", "available", "healthy"} // the better ones first
	goodTypes    = set(`synced reconciled programmed accepted valid established installed deployed provisioned applied
		connected joined registered configured initialized online running active bound resolvedrefs admitted validated
		uptodate insync operational stable loaded released issued`)
	finishedTypes = set(`succeeded complete completed finished done`)
	badTypes      = set(`degraded failed failure error errored stalled invalid unhealthy terminal conflicted notready
		notaccepted unavailable`)
	heldTypes = set(`paused suspended`)
	busyTypes = set(`pending`)
)

func polarityOf(conditionType string) polarity {
	name := conditionType[strings.LastIndex(conditionType, "/")+1:]
	words := split(name)
	whole := strings.Join(words, "")
	last := ""
	if len(words) > 0 {
		last = words[len(words)-1]
	}
	switch {
	case slices.Contains(summaryTypes, whole):
		return summary
	case goodTypes[whole]:
		return good
	case finishedTypes[whole]:
		return finished
	case badTypes[whole]:
		return bad
	case heldTypes[whole]:
		return held
	case busyTypes[whole], len(words) == 1 && inWork(last):
		return busy
	case slices.ContainsFunc(words, func(w string) bool { return negatingWords[w] }):
		return unclear
	case slices.Contains(summaryTypes, last), goodTypes[last], finishedTypes[last]:
		return partlyGood
	case badTypes[last]:
		return bad
	}
	return unclear
}

// split cuts a name or value into words in lower case: at what is no letter or
// digit, before an upper-case letter that follows a lower-case one (readyToUse), and
// before the last of several upper-case letters (ACKTerminal).
func split(text string) []string {
	var words []string
	var word []rune
	flush := func() {
		if len(word) > 0 {
			words = append(words, strings.ToLower(string(word)))
			word = word[:0]
		}
	}
	runes := []rune(text)
	for i, r := range runes {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			flush()
			continue
		case unicode.IsUpper(r) && i > 0 && (!unicode.IsUpper(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])):
			flush()
		}
		word = append(word, r)
	}
	flush()
	return words
}

func set(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}

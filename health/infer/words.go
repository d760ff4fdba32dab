package infer

import (
	"maps"
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
	// Steps on the way where there is something better. Without, they are Healthy of what
	// can also fail or be under way; Enabled beside Disabled is only a setting.
	weakWords = set(`provisioned installed deployed initialized initialised created accepted applied configured registered
		processed connected attached joined valid validated loaded published released enabled programmed built`)
	endWords = set(`succeeded success successful complete completed finished done passed pass executed processed`)

	degradedWords = set(`degraded unhealthy lost rejected denied aborted broken crashed crashloopbackoff timeout timedout
		faulted dead down offline outofservice stalled terminal red misconfigured evicted expired inaccessible critical
		incompatible fault`)
	progressingWords = set(`pending inprogress new queued scheduled submitted initial init started starting ongoing notready
		unknown unspecified rollback upgrade update initialization initialisation yellow`)
	suspendedWords = set(`paused suspended hibernated onhold`)
)

// Single words that say something wherever they stand.
var (
	failureWords  = set(`failed failure fail failing err error errors errored invalid faulted crashed unhealthy rejected degraded`)
	workWords     = set(`pending progress wait queued unspecified`)
	holdWords     = set(`paused suspended`)
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
		if !contains(all, healthyWords) && slices.ContainsFunc(all, moves) {
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

// moves tells a value of a state that changes by itself: of work under way or failed.
func moves(value string) bool {
	words := split(value)
	whole := strings.Join(words, "")
	said := hint(words)
	return degradedWords[whole] || progressingWords[whole] || said == health.Degraded || said == health.Progressing
}

// hint is what single words of a value say, if they agree.
func hint(words []string) health.Status {
	said := map[health.Status]bool{}
	for _, w := range words {
		switch {
		case negatingWords[w]:
			return ""
		case failureWords[w]:
			said[health.Degraded] = true
		case holdWords[w]:
			said[health.Suspended] = true
		case workWords[w], inWork(w):
			said[health.Progressing] = true
		}
	}
	if len(said) != 1 {
		return ""
	}
	return slices.Collect(maps.Keys(said))[0]
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
	summaryTypes = []string{"ready", "readytouse", "available", "healthy"} // the better ones first
	goodTypes    = set(`synced reconciled programmed accepted valid established installed deployed provisioned applied
		connected joined registered configured initialized online running active bound resolvedrefs admitted validated
		uptodate insync operational stable loaded released issued success successful synchronized`)
	finishedTypes = set(`succeeded complete completed finished done`)
	// Of these True says that the object failed, whatever the reason.
	anyFailure = set(`degraded failed failure error errored stalled unhealthy terminal`)
	badTypes   = set(`degraded failed failure error errored stalled unhealthy terminal invalid conflicted notready
		notaccepted unavailable denied fallback`)
	heldTypes = set(`paused suspended hibernated hibernation`)
	// Of the good ones, those that say that the latest spec was taken. The others may be
	// False of an object that is at rest, such as Active.
	acceptance = set(`synced reconciled programmed accepted valid established installed applied configured resolvedrefs
		admitted validated`)
	// Reasons that say no more than the condition.
	repeats = set(`notready unknown new`)
	// By the list only: Scheduling and Watching are True of what is as it should be.
	busyTypes = set(`pending progressing reconciling issuing creating deleting terminating updating upgrading provisioning
		installing deploying migrating initializing initialising restarting resizing scaling rebalancing rollingout
		inprogress`)
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
	case busyTypes[whole]:
		return busy
	case slices.ContainsFunc(words, func(w string) bool { return negatingWords[w] }):
		return unclear
	case slices.Contains(summaryTypes, last), goodTypes[last], finishedTypes[last]:
		return partlyGood
	case badTypes[last], slices.ContainsFunc(words, func(w string) bool { return failureWords[w] }):
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

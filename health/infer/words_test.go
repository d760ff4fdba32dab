package infer

import (
	"slices"
	"strings"
	"testing"

	"hallmark.dev/hallmark/health"
)

func TestMeaning(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		want   health.Status
		values string
	}{
		{health.Healthy, "Ready READY ready Running Active AVAILABLE Succeeded Completed in-sync UpToDate Bound OK"},
		{health.Degraded, "Failed FAILED CREATE_FAILED TerminationFailed PartiallyFailed Error errored Invalid Rejected Lost incompatible"},
		{health.Progressing, "Pending InProgress IN_PROGRESS in-progress Creating ROLLING_BACK WaitingForPlugin PENDING_VALIDATION STATE_UNSPECIFIED Unknown NotReady New"},
		{health.Suspended, "Paused SUSPENDED OnHold ReconcilePaused"},
		// A word of failure and one of work, a negated one, and what is only near to a
		// word of the lists.
		{"", "FinalizingFailed NotFailed PartiallyReady ReadyToStart NotAvailable Missing Warning Frozen x Deleted ERRORLESS"},
		{"", "Enabled Provisioned Deployed"}, // nothing fails or is under way beside them
	} {
		for value := range strings.FieldsSeq(tc.values) {
			if got := meaning(value, []string{value}); got != tc.want {
				t.Errorf("%s means %q, want %q", value, got, tc.want)
			}
		}
	}
	for _, tc := range []struct {
		value, all string
		want       health.Status
	}{
		{"Running", "Pending Running Failed", health.Healthy},
		{"RUNNING", "PENDING RUNNING COMPLETED", health.Progressing},
		{"Provisioned", "Provisioning Provisioned Failed", health.Healthy},
		{"Provisioned", "Provisioning Provisioned Running", ""},
		{"Enabled", "Enabled Disabled", ""},
		{"Enabled", "New Enabled FailedValidation", health.Healthy},
	} {
		if got := meaning(tc.value, strings.Fields(tc.all)); got != tc.want {
			t.Errorf("%s of %s means %q, want %q", tc.value, tc.all, got, tc.want)
		}
	}
}

func TestPolarity(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		want  polarity
		types string
	}{
		{summary, "Ready Available Healthy example.test/Ready"},
		{good, "Synced Accepted ResolvedRefs UpToDate"},
		{partlyGood, "DatabaseReady ACK.ResourceSynced ReconcileSuccess"},
		{finished, "Succeeded Complete Finished"},
		{bad, "Degraded Failed Stalled ScaleDownFailed ErrorOccurred InvalidRequest NotAccepted ACK.Terminal"},
		{busy, "Progressing Reconciling Issuing"},
		{held, "Paused Suspended"},
		{unclear, "Scheduling Drifted NotInstalled Approved Warning x /"},
	} {
		for name := range strings.FieldsSeq(tc.types) {
			if got := polarityOf(name); got != tc.want {
				t.Errorf("%s is %d, want %d", name, got, tc.want)
			}
		}
	}
}

// TestWordListsAgree: a word in two lists would mean what happens to be asked first.
func TestWordListsAgree(t *testing.T) {
	t.Parallel()
	for _, group := range [][]map[string]bool{
		{healthyWords, weakWords, degradedWords, progressingWords, suspendedWords},
		{goodTypes, finishedTypes, badTypes, heldTypes, busyTypes},
	} {
		seen := map[string]bool{}
		for _, list := range group {
			for word := range list {
				if seen[word] || word != strings.ToLower(word) {
					t.Errorf("%q is in two lists, or not in lower case", word)
				}
				seen[word] = true
			}
		}
	}
	for word := range endWords {
		if !healthyWords[word] && !weakWords[word] {
			t.Errorf("%q tells an end, and nothing says that it is a good one", word)
		}
	}
	for word := range anyFailure {
		if !badTypes[word] {
			t.Errorf("%q is no type of a failure", word)
		}
	}
}

func TestListed(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ description, want string }{
		{"The phase, one of Pending, Running, Failed.", "Pending Running Failed"},
		{"One of: Failed, Provisioning, Provisioned, or Deleting", "Failed Provisioning Provisioned Deleting"},
		{"Can be \"creating\", \"active\", \"deleting\".", "creating active deleting"},
		{"Can be `A` or 'B'", "A B"},
		{"Valid values: creating | available | restoring.", "creating available restoring"},
		{"Possible values: STATE_UNSPECIFIED, CREATING, READY", "STATE_UNSPECIFIED CREATING READY"},
		{"which can be one of the following: Created/Activating/Failed.", "Created Activating Failed"},
		{"the current phase of a set (ScalingUp, ScalingDown, or Unknown).", "ScalingUp ScalingDown Unknown"},
		{"(Pending|Running)", "Pending Running"},
		{"It can be one of the following:\n- \"ready\": it works\n- \"being-made\": it does not yet", "ready being-made"},
		{"The following states are possible. Possible states are\n* active - it is there,\n* gone - it is not", "active gone"},
		{"Values will include Succeeded, Deploying, Canceled, and Failed.", "Succeeded Deploying Canceled Failed"},
		{"either ACTIVE or INACTIVE. The other end decides", "ACTIVE INACTIVE"},
		// The list ends where the sentence goes on.
		{"one of available, creating, rebooting cluster nodes, failed", "available creating rebooting"},
		// What is no list.
		{"The state. It can be used and changed by the controller", ""},
		{"Whether it is enabled or disabled", ""},
		{"The phase of the object (see the documentation for more).", ""},
		{"one of Ready", ""},
		{"", ""},
		{"--- one of A, B", ""},
	} {
		if got := strings.Join(listed(tc.description), " "); got != tc.want {
			t.Errorf("%q lists %q, want %q", tc.description, got, tc.want)
		}
	}
}

func TestTypesOfDescriptions(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ description, listed, named string }{
		{"Known condition types are `Ready` and `Issuing`.", "Ready Issuing", "Ready Issuing"},
		{"Type of the condition, known values are (`Ready`).", "Ready", "Ready"},
		{"type of the condition, currently ('Done', 'Updating', 'Failed').", "Done Updating Failed", "Done Updating Failed"},
		{"Known condition types are:\n\n* \"Accepted\"\n* \"ResolvedRefs\"", "Accepted ResolvedRefs", "Accepted ResolvedRefs"},
		{"Known .status.conditions.type are: \"A\", \"B\", and \"C\"", "A B C", ""},
		{"A single condition, `Valid`, is set.", "", "Valid"},
		{"The Stalled condition tells a failure.", "", "Stalled"},
		{"Ready objects take part.", "", ""}, // the beginning of a sentence
		{"type of condition in CamelCase.\n---\nMany .condition.type values are consistent across resources like Available", "", ""},
		{"Conditions of the thing. Many .condition.type values are like Available", "", ""},
		{"Conditions of the thing: they are many, and old", "", ""},
	} {
		if got := strings.Join(listedTypes(tc.description), " "); got != tc.listed {
			t.Errorf("%q lists %q, want %q", tc.description, got, tc.listed)
		}
		if got := strings.Join(namedTypes(tc.description), " "); got != tc.named {
			t.Errorf("%q names %q, want %q", tc.description, got, tc.named)
		}
	}
}

func TestParseColumn(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ path, want, condition string }{
		{`.status.conditions[?(@.type=="Ready")].status`, "status.conditions", "Ready"},
		{`.status.conditions[?(@.type == 'Ready')].reason`, "status.conditions", "Ready"},
		{`{.status.v1.conditions[?(@.type==\"A.b/C\")].message}`, "status.v1.conditions", "A.b/C"},
		{"$.status.phase", "status.phase", ""},
		{".status.health.status", "status.health.status", ""},
		{".spec.phase", "", ""},
		{".status.conditions[?(@.type==\"Ready\")].lastTransitionTime", "", ""},
		{".status.addresses[*].value", "", ""},
		{".metadata.creationTimestamp", "", ""},
	} {
		c, _ := parseColumn(tc.path)
		if c.path != tc.want || c.condition != tc.condition {
			t.Errorf("%s is of %q and %q, want %q and %q", tc.path, c.path, c.condition, tc.want, tc.condition)
		}
	}
}

func TestSplit(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"readyToUse": "ready to use", "CREATE_FAILED": "create failed", "in-progress": "in progress", "ACKTerminal": "ack terminal",
		"HTTPReady": "http ready", "v1Beta2": "v1 beta2", "": "", "_": "", "ÜberReady": "über ready",
	} {
		if got := split(text); !slices.Equal(got, strings.Fields(want)) {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

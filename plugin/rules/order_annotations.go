package rules

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/argoproj/gitops-engine/pkg/sync/common"

	"hallmark.dev/hallmark/internal/object"
)

// Helm's annotations, which Argo CD maps onto its own.
const (
	helmHook         = "helm.sh/hook"
	helmDeletePolicy = "helm.sh/hook-delete-policy"
	helmWeight       = "helm.sh/hook-weight"
)

const argoPrefix = "argocd.argoproj.io/"

// What the annotations may hold. PreDelete and PostDelete are none of the sync
// engine's hooks; Argo CD's controller runs them when an Application is deleted.
var (
	hookTypes        = []string{"PreSync", "Sync", "PostSync", "SyncFail", "Skip", "PreDelete", "PostDelete"}
	hookPolicies     = []string{"HookSucceeded", "HookFailed", "BeforeHookCreation"}
	helmHookTypes    = []string{"pre-install", "pre-upgrade", "post-install", "post-upgrade", "pre-delete", "post-delete", "pre-rollback", "post-rollback", "test", "test-success", "test-failure", "crd-install"}
	helmHookPolicies = []string{"before-hook-creation", "hook-succeeded", "hook-failed"}
	syncOptions      = []string{
		"Prune=false", "Prune=confirm", "PruneLast=true", "Delete=false", "Delete=confirm", "Validate=false", "Replace=true", "Force=true",
		"ServerSideApply=true", "ServerSideApply=false", "SkipDryRunOnMissingResource=true",
	}
)

// splitList splits a value at its commas, in the order in which they stand.
func splitList(text string) []string {
	var out []string
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part != "" && !slices.Contains(out, part) {
			out = append(out, part)
		}
	}
	return out
}

// onDelete reports whether the object is a hook of the Application's deletion.
func (it *item) onDelete() bool { return it.deleteHook("Pre") || it.deleteHook("Post") }

// isTest reports whether the object is one of Helm's tests, which Argo CD never applies.
func (it *item) isTest() bool {
	return !it.applied() && slices.ContainsFunc(splitList(it.annotation(helmHook)), func(when string) bool {
		return when == "test" || when == "test-success" || when == "test-failure"
	})
}

// deleteHook reports whether the object is a hook before ("Pre") or after ("Post")
// the Application's deletion, for some version of Argo CD.
func (it *item) deleteHook(when string) bool {
	return slices.Contains(splitList(it.annotation(common.AnnotationKeyHook)), when+"Delete") ||
		slices.Contains(splitList(it.annotation(helmHook)), strings.ToLower(when)+"-delete")
}

func checkHookAnnotations(r *render, report report) {
	for _, it := range r.items {
		it.checkHookTypes(report)
		it.checkDeletePolicies(report)
		it.checkWaves(report)
		it.checkSyncOptions(report)
		it.checkPlaces(report)
		it.checkKeys(report)
	}
}

func (it *item) checkHookTypes(report report) {
	at := path{"metadata", "annotations", common.AnnotationKeyHook}
	fate := "ignores it"
	if it.hook && len(it.moments) == 0 && !it.onDelete() {
		fate = "never applies the object"
	}
	text, isHook := it.Annotations()[common.AnnotationKeyHook].(string)
	types := splitList(text)
	if isHook && len(types) == 0 && fate != "ignores it" {
		report(it, at, "names no hook type, and Argo CD %s", fate)
	}
	for _, t := range types {
		if !slices.Contains(hookTypes, t) {
			report(it, at, "%q is no hook type, and Argo CD %s%s", t, fate, spelled(hookTypes, t))
		}
	}
	if len(types) > 1 && slices.Contains(types, "Skip") {
		report(it, at, "Skip beside another hook type is ignored")
	}
	if len(it.moments) > 0 && isHook {
		return // Argo CD's own annotation wins
	}
	for _, t := range splitList(it.annotation(helmHook)) {
		if !slices.Contains(helmHookTypes, t) {
			report(it, path{"metadata", "annotations", helmHook}, "%q is no hook type of Helm, and Argo CD %s%s", t, fate, spelled(helmHookTypes, t))
		}
	}
}

func (it *item) checkDeletePolicies(report report) {
	for _, list := range []struct {
		annotation string
		known      []string
	}{{common.AnnotationKeyHookDeletePolicy, hookPolicies}, {helmDeletePolicy, helmHookPolicies}} {
		at := path{"metadata", "annotations", list.annotation}
		for _, policy := range splitList(it.annotation(list.annotation)) {
			if !slices.Contains(list.known, policy) {
				report(it, at, "%q is no delete policy, and Argo CD ignores it%s", policy, spelled(list.known, policy))
			}
		}
	}
	if it.annotation(common.AnnotationKeyHookDeletePolicy) != "" && !it.hook && !it.skipped {
		report(it, path{"metadata", "annotations", common.AnnotationKeyHookDeletePolicy}, "the object has a delete policy for hooks, and is no hook")
	}
}

// spelled returns how a word is written that differs in case or punctuation only.
func spelled(known []string, word string) string {
	for _, k := range known {
		if plain(k) == plain(word) {
			return "; it is written " + strconv.Quote(k)
		}
	}
	return ""
}

// plain leaves the letters, digits and equals signs of a word, in lower case.
func plain(word string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '=' {
			return r
		}
		return -1
	}, strings.ToLower(word))
}

func (it *item) checkWaves(report report) {
	for _, name := range []string{common.AnnotationSyncWave, helmWeight} {
		text, found := it.Annotations()[name].(string)
		if !found {
			continue
		}
		if _, err := strconv.Atoi(text); err == nil {
			return // the first one that is a number counts
		}
		report(it, path{"metadata", "annotations", name}, "%q is no whole number, and Argo CD ignores it", text)
	}
}

// checkSyncOptions looks only for options that are meant: each version of Argo CD
// knows others.
func (it *item) checkSyncOptions(report report) {
	for _, option := range splitList(it.annotation(common.AnnotationSyncOptions)) {
		if !slices.Contains(syncOptions, option) {
			if how := spelled(syncOptions, option); how != "" {
				report(it, path{"metadata", "annotations", common.AnnotationSyncOptions}, "%q is no sync option, and Argo CD ignores it%s", option, how)
			}
		}
	}
}

// checkPlaces looks for annotations that stand in a pod template or among the labels,
// where Argo CD does not read them.
func (it *item) checkPlaces(report report) {
	for _, name := range []string{common.AnnotationKeyHook, common.AnnotationKeyHookDeletePolicy, common.AnnotationSyncWave, common.AnnotationSyncOptions} {
		if it.Annotations()[name] != nil {
			continue
		}
		if object.Field(it.Value, "metadata", "labels", name) != nil {
			report(it, path{"metadata", "labels", name}, "stands among the labels, where Argo CD does not read it")
		}
		if it.pod != nil && it.pod.annotations[name] != nil {
			report(it, it.pod.at[:len(it.pod.at)-1].under("metadata", "annotations", name), "stands in the pod template, where Argo CD does not read it")
		}
	}
}

// misspelled are the names that people write for those of Argo CD's annotations
// without dashes and in lower case.
var misspelled = map[string]string{
	"hooks": common.AnnotationKeyHook, "hooktype": common.AnnotationKeyHook, "synchook": common.AnnotationKeyHook,
	"hookdeletepolicies": common.AnnotationKeyHookDeletePolicy, "hookdeletionpolicy": common.AnnotationKeyHookDeletePolicy,
	"deletepolicy": common.AnnotationKeyHookDeletePolicy, "hookdeletepolicy": common.AnnotationKeyHookDeletePolicy, "hookspolicy": common.AnnotationKeyHookDeletePolicy,
	"wave": common.AnnotationSyncWave, "waves": common.AnnotationSyncWave, "syncwave": common.AnnotationSyncWave, "syncwaves": common.AnnotationSyncWave,
	"hookweight": common.AnnotationSyncWave, "syncoption": common.AnnotationSyncOptions, "syncoptions": common.AnnotationSyncOptions,
}

func (it *item) checkKeys(report report) {
	for _, name := range slices.Sorted(maps.Keys(it.Annotations())) {
		short, found := strings.CutPrefix(name, argoPrefix)
		if !found {
			short, found = strings.CutPrefix(name, "argoproj.io/")
		}
		if right := misspelled[plain(short)]; found && right != "" && right != name {
			report(it, path{"metadata", "annotations", name}, "%q is no annotation of Argo CD; it is written %q", name, right)
		}
	}
}

// checkDeleteHook passes over Helm's post-delete, which runs where its author expects
// it to, and over what a hook merely brings along.
func checkDeleteHook(r *render, report report) {
	for _, it := range r.items {
		if it.pod == nil && !it.is(argoGroup, "Workflow") {
			continue
		}
		types := splitList(it.annotation(common.AnnotationKeyHook))
		for _, t := range types {
			if t != "PreDelete" && t != "PostDelete" {
				continue
			}
			at := path{"metadata", "annotations", common.AnnotationKeyHook}
			switch {
			case len(types) > 1:
				report(it, at, "Argo CD before 3.4 runs no %s hook that is another hook, too", t)
			case t == "PreDelete":
				report(it, at, "the PreDelete hook runs when the Application is deleted and never on a prune; Argo CD before 3.3 does not run it at all")
			default:
				report(it, at, "the PostDelete hook runs when the Application is deleted and never on a prune")
			}
		}
		if len(types) == 0 && slices.Contains(splitList(it.annotation(helmHook)), "pre-delete") {
			report(it, path{"metadata", "annotations", helmHook}, "Argo CD before 3.3 does not run Helm's pre-delete hooks; later ones run them when the Application is deleted")
		}
	}
}

package rules

import (
	"slices"

	"github.com/argoproj/gitops-engine/pkg/sync/common"

	"hallmark.dev/hallmark/internal/object"
)

var jobRules = []Rule{
	{
		ID: "job-deadline", Group: groupJobs, Severity: Warning,
		Reason: "a Job without a deadline may run, or wait for a pod that cannot start, for ever, and the sync waits with it",
		Remedy: "set spec.activeDeadlineSeconds of the Job to the longest time that it may take; that of the pod does not count while the pod is not scheduled",
		check:  checkDeadline,
	},
	{
		ID: "job-backoff-limit", Group: groupJobs, Severity: Info,
		Reason: "without a decision Kubernetes tries a failed Job six more times, with longer and longer pauses, before the sync fails",
		Remedy: "set spec.backoffLimit: 0 for work that must not be repeated blindly, more for work that may be",
		check:  checkBackoffLimit,
	},
	{
		ID: "job-restart-policy", Group: groupJobs, Severity: Error,
		Reason: "Always, which is the default of pods, is no restart policy for a Job: the API server refuses the object and the sync fails",
		Remedy: "set spec.template.spec.restartPolicy to Never, or to OnFailure",
		check:  checkRestartPolicy,
	},
	{
		ID: "job-ttl", Group: groupJobs, Severity: Error,
		Reason: "what removes a finished Job decides what Argo CD sees of it: removed at once it is never seen to succeed, removed outside a hook it is missing, and never removed it stays",
		Remedy: "give a hook a ttlSecondsAfterFinished of minutes to days, or the delete policy HookSucceeded; make a Job that is to vanish a hook, and give any other Job no ttl",
		check:  checkTTL, advise: adviseTTL,
	},
	{
		ID: "job-fixed-name", Group: groupJobs, Severity: Warning,
		Reason: "a hook that is left over under its name is not run again: the next sync takes the old result for its own, or fails because the pod template of a Job cannot be changed",
		Remedy: "add BeforeHookCreation (before-hook-creation in Helm's annotation) to the delete policies; it is the default where none is given",
		check:  checkFixedName,
	},
	{
		ID: "job-resources", Group: groupJobs, Severity: Warning,
		Reason: "a pod without requests is placed on a full node and is the first to be evicted, in the middle of a release",
		Remedy: "set resources.requests, or limits, for each container",
		check:  checkResources,
	},
	{
		ID: "job-image-digest", Group: groupJobs, Severity: Info,
		Reason: "a tag can be moved: the Job that was reviewed and the one that changes the release need not be the same program",
		Remedy: "name the image by its digest, as in registry.example.com/shop/checkout@sha256:<digest>",
		check:  checkImageDigest,
	},
	{
		ID: "job-token", Group: groupJobs, Severity: Warning,
		Reason: "unless somebody decides otherwise each pod gets a token of its ServiceAccount, which work on a database or an HTTP endpoint has no use for",
		Remedy: "set automountServiceAccountToken: false in the pod's spec, or true if the Job talks to the API server",
		check:  checkToken,
	},
	{
		ID: "job-privileges", Group: groupJobs, Severity: Warning,
		Reason: "a Job of a release runs unattended on each sync; with the rights of the node, whoever can change its image has the node",
		Remedy: "leave out privileged, hostPath, hostNetwork, hostPID, hostIPC and added capabilities, or move what needs them out of the release",
		check:  checkPrivileges,
	},
	{
		ID: "job-secrets", Group: groupJobs, Severity: Error,
		Reason: "arguments, plain variables and annotations are readable by all who may read the Job or the process list, and stand in Git, in Argo CD's UI and in events",
		Remedy: "put the value into a Secret, read it by secretKeyRef or from a mounted file, and change the value, which is no secret any more",
		check:  checkJobSecrets,
	},
	{
		ID: "job-change-key", Group: groupJobs, Severity: Info,
		Reason: "a Job that is complete says that a container ended with 0, not that this change was made, once; and a retry, a second sync or another cluster makes it again",
		Remedy: "run the tool by `hallmark ledger run --change-key checkout:add-order-index:v3 --source-revision ... -- COMMAND`",
		check:  checkChangeKey,
	},
}

// releaseJobs are the Jobs that a sync, or the deletion of the application, waits
// for: hooks that Argo CD runs, and those in a wave that somebody gave.
func (r *render) releaseJobs() []*item {
	var out []*item
	for _, it := range r.items {
		if !it.is("batch", "Job") || it.pod == nil || it.skipped {
			continue
		}
		if it.hook && (len(it.moments) > 0 || it.onDelete()) || !it.hook && it.waved {
			out = append(out, it)
		}
	}
	return out
}

func checkDeadline(r *render, report report) {
	at := path{"spec", "activeDeadlineSeconds"}
	for _, it := range r.releaseJobs() {
		if object.Field(it.Value, keys(at)...) != nil {
			continue
		}
		if it.pod.spec["activeDeadlineSeconds"] != nil {
			report(it, at, "the deadline is that of the pod, which does not count while no pod is scheduled; the Job has no spec.activeDeadlineSeconds")
			continue
		}
		report(it, at, "the Job has no spec.activeDeadlineSeconds")
	}
}

func checkBackoffLimit(r *render, report report) {
	for _, it := range r.releaseJobs() {
		spec := object.Mapping(it.Value["spec"])
		if spec["backoffLimit"] == nil && spec["backoffLimitPerIndex"] == nil {
			report(it, path{"spec", "backoffLimit"}, "the Job has no spec.backoffLimit")
		}
	}
}

// checkRestartPolicy looks at all Jobs: none with another policy can exist.
func checkRestartPolicy(r *render, report report) {
	for _, it := range r.items {
		if it.pod == nil || it.skipped || !it.is("batch", "Job") && !it.is("batch", "CronJob") {
			continue
		}
		at := it.pod.at.under("restartPolicy")
		switch policy := object.Text(it.pod.spec["restartPolicy"]); policy {
		case "Never", "OnFailure":
		case "":
			report(it, at, "the pod template has no restartPolicy, which means Always")
		default:
			report(it, at, "the pod template has restartPolicy %q", policy)
		}
	}
}

func checkTTL(r *render, report report) {
	at := path{"spec", "ttlSecondsAfterFinished"}
	for _, it := range r.items {
		if !it.is("batch", "Job") || it.skipped {
			continue
		}
		ttl := object.Field(it.Value, keys(at)...)
		switch {
		case ttl == nil:
		case !it.hook:
			report(it, at, "the Job is no hook: once Kubernetes has removed it, Argo CD finds it missing, and self-heal runs it again")
		case isZero(ttl) && len(it.moments) > 0:
			report(it, at, "Kubernetes removes this hook as soon as it has finished, and Argo CD before 3.2 may never see that it has")
		}
	}
}

func isZero(v any) bool { return v == int64(0) || v == float64(0) }

func adviseTTL(r *render, report report) {
	at := path{"spec", "ttlSecondsAfterFinished"}
	for _, it := range r.releaseJobs() {
		if !it.hook || object.Field(it.Value, keys(at)...) != nil {
			continue
		}
		named := object.Field(it.Value, "metadata", "name") != nil
		switch {
		case slices.Contains(it.deletePolicies(), common.HookDeletePolicyHookSucceeded):
		case len(it.moments) == 0:
			report(it, at, "the Job is left behind when the Application is gone: it has no ttlSecondsAfterFinished and no delete policy HookSucceeded")
		case named:
			report(it, at, "nothing removes the finished Job and its pods before the next sync: it has no ttlSecondsAfterFinished and no delete policy HookSucceeded")
		default:
			report(it, at, "each sync leaves a Job behind: its name is generated, and it has no ttlSecondsAfterFinished and no delete policy HookSucceeded")
		}
	}
}

// checkFixedName looks at hooks of which one end is left standing: only the policies
// HookSucceeded and HookFailed together remove a Job whatever becomes of it and of
// the sync.
func checkFixedName(r *render, report report) {
	for _, it := range r.releaseJobs() {
		if !it.hook || len(it.moments) == 0 || object.Field(it.Value, "metadata", "name") == nil {
			continue
		}
		policies := it.deletePolicies()
		if slices.Contains(policies, common.HookDeletePolicyBeforeHookCreation) {
			continue
		}
		succeeded := slices.Contains(policies, common.HookDeletePolicyHookSucceeded)
		failed := slices.Contains(policies, common.HookDeletePolicyHookFailed)
		at := path{"metadata", "annotations", common.AnnotationKeyHookDeletePolicy}
		if it.annotation(common.AnnotationKeyHookDeletePolicy) == "" {
			at = path{"metadata", "annotations", helmDeletePolicy}
		}
		switch {
		case succeeded && failed:
		case succeeded:
			report(it, at, "a hook of this name that has failed, or whose sync has, stays, and the next sync does not run it again")
		default:
			report(it, at, "a hook of this name that has succeeded stays, and the next sync does not run it again")
		}
	}
}

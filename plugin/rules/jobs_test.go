package rules

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// A ruleCase is objects and what one rule finds in them, as "field: message".
type ruleCase struct {
	name, yaml string
	want       []string
}

func runCases(t *testing.T, rule string, options Options, cases []ruleCase) {
	t.Helper()
	for _, tt := range cases {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, f := range of(Check(objects(t, tt.yaml), options), rule) {
				got = append(got, f.Field+": "+f.Message)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("%s found\n\t%s\nwant\n\t%s\nin\n%s", rule, strings.Join(got, "\n\t"), strings.Join(tt.want, "\n\t"), tt.yaml)
			}
		})
	}
}

// annotated writes annotations, given as "name: value", as an object's metadata has
// them.
func annotated(annotations ...string) string {
	if len(annotations) == 0 {
		return ""
	}
	return "  annotations:\n    " + strings.Join(annotations, "\n    ") + "\n"
}

const (
	preSyncHook    = "argocd.argoproj.io/hook: PreSync"
	postSyncHook   = "argocd.argoproj.io/hook: PostSync"
	postDeleteHook = "argocd.argoproj.io/hook: PostDelete"
)

func wave(n int) string { return fmt.Sprintf("argocd.argoproj.io/sync-wave: %q", fmt.Sprint(n)) }

func policies(list string) string { return "argocd.argoproj.io/hook-delete-policy: " + list }

// job is a Job with one container, with fields of its spec, of the pod's and of the
// container's.
func job(spec, pod, container string, annotations ...string) string {
	return "---\napiVersion: batch/v1\nkind: Job\nmetadata:\n  name: checkout\n" + annotated(annotations...) +
		"spec:\n" + indented(2, spec) + "  template:\n    spec:\n      restartPolicy: Never\n" + indented(6, pod) +
		"      containers:\n        - name: checkout\n          image: registry.example.com/shop/checkout:2.4.1\n" + indented(10, container)
}

func indented(n int, text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(strings.Repeat(" ", n) + strings.TrimSuffix(line, "\n") + "\n")
	}
	return b.String()
}

func TestReleaseJobs(t *testing.T) {
	t.Parallel()
	found := []string{"/spec/activeDeadlineSeconds: the Job has no spec.activeDeadlineSeconds"}
	runCases(t, "job-deadline", bookOptions(), []ruleCase{
		{"a hook", job("", "", "", preSyncHook), found},
		{"a hook of Helm", job("", "", "", "helm.sh/hook: post-upgrade"), found},
		{"a Job in a wave", job("", "", "", wave(0)), found},
		{"a Job with a weight of Helm", job("", "", "", `helm.sh/hook-weight: "1"`), found},
		{"a hook of the deletion", job("", "", "", postDeleteHook), found},
		{"Helm's hook before the deletion", job("", "", "", "helm.sh/hook: pre-delete"), found},
		{"only the pod has a deadline", job("", "activeDeadlineSeconds: 60", "", preSyncHook),
			[]string{"/spec/activeDeadlineSeconds: the deadline is that of the pod, which does not count while no pod is scheduled; the Job has no spec.activeDeadlineSeconds"}},
		{"a Job that nobody waits for", job("", "", ""), nil},
		{"a test of Helm", job("", "", "", "helm.sh/hook: test", `helm.sh/hook-weight: "1"`), nil},
		{"a Job that Argo CD skips", job("", "", "", "argocd.argoproj.io/hook: Skip", wave(1)), nil},
		{"another kind in a wave", strings.Replace(job("", "", "", wave(1)), "kind: Job", "kind: Work", 1), nil},
		{"a Job of the wrong shape", "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: checkout\n" + annotated(preSyncHook) + "spec: none\n", nil},
	})
}

func TestJobBackoffLimit(t *testing.T) {
	t.Parallel()
	runCases(t, "job-backoff-limit", bookOptions(), []ruleCase{
		{"none", job("", "", "", preSyncHook), []string{"/spec/backoffLimit: the Job has no spec.backoffLimit"}},
		{"nought", job("backoffLimit: 0", "", "", preSyncHook), nil},
		{"by index", job("backoffLimitPerIndex: 2", "", "", preSyncHook), nil},
	})
}

func TestJobRestartPolicy(t *testing.T) {
	t.Parallel()
	const at = "/spec/template/spec/restartPolicy: "
	with := func(policy string) string {
		return strings.Replace(job("", "", ""), "      restartPolicy: Never\n", policy, 1)
	}
	cron := "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: checkout}\nspec:\n  jobTemplate:\n    spec:\n      template:\n        spec:\n          containers: [{name: checkout}]\n"
	runCases(t, "job-restart-policy", bookOptions(), []ruleCase{
		{"none", with(""), []string{at + "the pod template has no restartPolicy, which means Always"}},
		{"Always", with("      restartPolicy: Always\n"), []string{at + `the pod template has restartPolicy "Always"`}},
		{"OnFailure", with("      restartPolicy: OnFailure\n"), nil},
		{"Never", job("", "", "", preSyncHook), nil},
		{"a CronJob", cron, []string{"/spec/jobTemplate/spec/template/spec/restartPolicy: the pod template has no restartPolicy, which means Always"}},
		{"a Job of somebody else", strings.Replace(with(""), "batch/v1", "batch.volcano.sh/v1alpha1", 1), nil},
	})
}

func TestJobTTL(t *testing.T) {
	t.Parallel()
	const at = "/spec/ttlSecondsAfterFinished: "
	stays := []string{at + "nothing removes the finished Job and its pods before the next sync: it has no ttlSecondsAfterFinished and no delete policy HookSucceeded"}
	generated := func(s string) string { return strings.Replace(s, "name: checkout", "generateName: checkout-", 1) }
	runCases(t, "job-ttl", bookOptions(), []ruleCase{
		{"nought on a hook", job("ttlSecondsAfterFinished: 0", "", "", preSyncHook),
			[]string{at + "Kubernetes removes this hook as soon as it has finished, and Argo CD before 3.2 may never see that it has"}},
		{"a day on a hook", job("ttlSecondsAfterFinished: 86400", "", "", preSyncHook), nil},
		{"on a Job that is no hook", job("ttlSecondsAfterFinished: 86400", "", ""),
			[]string{at + "the Job is no hook: once Kubernetes has removed it, Argo CD finds it missing, and self-heal runs it again"}},
		{"nought on a test of Helm", job("ttlSecondsAfterFinished: 0", "", "", "helm.sh/hook: test"), nil},
		{"none on a hook", job("", "", "", preSyncHook), stays},
		{"none, and deleted after a failure", job("", "", "", preSyncHook, policies("HookFailed,BeforeHookCreation")), stays},
		{"none, and deleted after success", job("", "", "", preSyncHook, policies("HookSucceeded,BeforeHookCreation")), nil},
		{"none on a hook with a generated name", generated(job("", "", "", preSyncHook)),
			[]string{at + "each sync leaves a Job behind: its name is generated, and it has no ttlSecondsAfterFinished and no delete policy HookSucceeded"}},
		{"none on a hook of the deletion", job("", "", "", postDeleteHook),
			[]string{at + "the Job is left behind when the Application is gone: it has no ttlSecondsAfterFinished and no delete policy HookSucceeded"}},
		{"none on a Job in a wave", job("", "", "", wave(1)), nil},
	})
	severities := map[string]Severity{
		job("ttlSecondsAfterFinished: 0", "", "", preSyncHook): Error,
		job("", "", "", preSyncHook):                           Info,
	}
	for text, want := range severities {
		for _, f := range of(Check(objects(t, text), bookOptions()), "job-ttl") {
			if f.Severity != want {
				t.Errorf("got severity %s for %q, want %s", f.Severity, f.Message, want)
			}
		}
	}
}

func TestJobFixedName(t *testing.T) {
	t.Parallel()
	const (
		at        = "/metadata/annotations/argocd.argoproj.io~1hook-delete-policy: "
		failed    = "a hook of this name that has failed, or whose sync has, stays, and the next sync does not run it again"
		succeeded = "a hook of this name that has succeeded stays, and the next sync does not run it again"
	)
	runCases(t, "job-fixed-name", bookOptions(), []ruleCase{
		{"deleted after success only", job("", "", "", preSyncHook, policies("HookSucceeded")), []string{at + failed}},
		{"deleted after a failure only", job("", "", "", preSyncHook, policies("HookFailed")), []string{at + succeeded}},
		{"by Helm's annotation", job("", "", "", "helm.sh/hook: pre-upgrade", "helm.sh/hook-delete-policy: hook-succeeded"),
			[]string{"/metadata/annotations/helm.sh~1hook-delete-policy: " + failed}},
		{"deleted after both", job("", "", "", preSyncHook, policies("HookSucceeded, HookFailed")), nil},
		{"deleted before it is created", job("", "", "", preSyncHook, policies("HookSucceeded,BeforeHookCreation")), nil},
		{"the default", job("", "", "", preSyncHook), nil},
		{"a policy that nobody knows, which leaves the default", job("", "", "", preSyncHook, policies("hook-succeeded")), nil},
		{"a generated name", strings.Replace(job("", "", "", preSyncHook, policies("HookSucceeded")), "name: checkout", "generateName: checkout-", 1), nil},
		{"no hook", job("", "", "", wave(1), policies("HookSucceeded")), nil},
		{"a hook of the deletion", job("", "", "", postDeleteHook, policies("HookSucceeded")), nil},
	})
}

func TestJobResources(t *testing.T) {
	t.Parallel()
	const at = "/spec/template/spec/containers/0/resources/requests: "
	runCases(t, "job-resources", bookOptions(), []ruleCase{
		{"none", job("", "", "", preSyncHook), []string{at + `the container "checkout" has no resources.requests`}},
		{"empty", job("", "", "resources: {}", preSyncHook), []string{at + `the container "checkout" has no resources.requests`}},
		{"requests", job("", "", "resources: {requests: {cpu: 100m}}", preSyncHook), nil},
		{"limits, which are requests, too", job("", "", "resources: {limits: {memory: 64Mi}}", preSyncHook), nil},
		{"of the whole pod", job("", "resources: {requests: {cpu: 100m}}", "", preSyncHook), nil},
		{"none for an init container", job("", "initContainers: [{name: wait, image: busybox}]", "resources: {requests: {cpu: 100m}}", preSyncHook),
			[]string{`/spec/template/spec/initContainers/0/resources/requests: the container "wait" has no resources.requests`}},
	})
}

func TestJobImageDigest(t *testing.T) {
	t.Parallel()
	runCases(t, "job-image-digest", bookOptions(), []ruleCase{
		{"a tag", job("", "", "", wave(2)),
			[]string{`/spec/template/spec/containers/0/image: the image "registry.example.com/shop/checkout:2.4.1" of the container "checkout" is not named by its digest`}},
		{"a tag and a digest", strings.ReplaceAll(job("", "", "", wave(2)), "2.4.1", "2.4.1@sha256:"+strings.Repeat("a", 64)), nil},
		{"no image", strings.ReplaceAll(job("", "", "", wave(2)), "image: ", "picture: "), nil},
	})
}

func TestJobToken(t *testing.T) {
	t.Parallel()
	const at = "/spec/template/spec/automountServiceAccountToken: "
	account := func(name, more string) string {
		return "---\napiVersion: v1\nkind: ServiceAccount\nmetadata: {name: " + name + "}\n" + more
	}
	binding := func(kind, namespace string) string {
		return "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: " + kind + "\nmetadata: {name: checkout}\nroleRef: {kind: ClusterRole, name: view}\nsubjects:\n- {kind: ServiceAccount, name: checkout, namespace: " + namespace + "}\n"
	}
	byDefault := []string{at + "the pod does not say whether it gets a token of the namespace's default ServiceAccount"}
	undecided := []string{at + `neither the pod nor its ServiceAccount "checkout" says whether it gets a token, and no binding gives the ServiceAccount any right`}
	named := job("", "serviceAccountName: checkout", "", preSyncHook)
	runCases(t, "job-token", bookOptions(), []ruleCase{
		{"nothing is said", job("", "", "", preSyncHook), byDefault},
		{"the default account by its name", job("", "serviceAccountName: default", "", preSyncHook), byDefault},
		{"off", job("", "automountServiceAccountToken: false", "", preSyncHook), nil},
		{"on", job("", "automountServiceAccountToken: true", "", preSyncHook), nil},
		{"an account that comes from elsewhere", named, nil},
		{"an account without rights", named + account("checkout", ""), undecided},
		{"an account by the old name of the field", job("", "serviceAccount: checkout", "", preSyncHook) + account("checkout", ""), undecided},
		{"an account that decides", named + account("checkout", "automountServiceAccountToken: false\n"), nil},
		{"the default account decides", job("", "", "", preSyncHook) + account("default", "automountServiceAccountToken: false\n"), nil},
		{"an account with a role", named + account("checkout", "") + binding("RoleBinding", "shop"), nil},
		{"an account with a role in all namespaces", named + account("checkout", "") + binding("ClusterRoleBinding", "shop"), nil},
		{"an account of that name in another namespace has the role", named + account("checkout", "") + binding("RoleBinding", "payments"), undecided},
	})
}

func TestJobPrivileges(t *testing.T) {
	t.Parallel()
	runCases(t, "job-privileges", bookOptions(), []ruleCase{
		{"all of them", job("", "hostNetwork: true\nhostPID: true\nhostIPC: true\nvolumes: [{name: proc, hostPath: {path: /proc}}]",
			"securityContext: {privileged: true, capabilities: {add: [SYS_ADMIN, CAP_NET_RAW, NET_BIND_SERVICE], drop: [ALL]}}", preSyncHook),
			[]string{
				`/spec/template/spec/containers/0/securityContext/capabilities/add: the container "checkout" adds the capabilities SYS_ADMIN, NET_RAW`,
				`/spec/template/spec/containers/0/securityContext/privileged: the container "checkout" is privileged`,
				"/spec/template/spec/hostIPC: the pod has hostIPC",
				"/spec/template/spec/hostNetwork: the pod has hostNetwork",
				"/spec/template/spec/hostPID: the pod has hostPID",
				`/spec/template/spec/volumes/0/hostPath: the pod mounts "/proc" of the node`,
			}},
		{"switched off", job("", "hostNetwork: false\nhostPID: false", "securityContext: {privileged: false, capabilities: {add: [NET_BIND_SERVICE], drop: [ALL]}}", preSyncHook), nil},
		{"other volumes", job("", "volumes: [{name: tmp, emptyDir: {}}]", "", preSyncHook), nil},
	})
}

func TestJobChangeKey(t *testing.T) {
	t.Parallel()
	const at = "/spec/template/spec/containers/0: "
	found := func(tool string) []string {
		return []string{at + fmt.Sprintf("%q changes a schema and runs without a change key", tool)}
	}
	runs := func(lines ...string) string { return job("", "", strings.Join(lines, "\n"), preSyncHook) }
	image := func(image, args string) string {
		return strings.Replace(runs("args: "+args), "registry.example.com/shop/checkout:2.4.1", image, 1)
	}
	cases := []ruleCase{
		{"golang-migrate by its image", image("migrate/migrate:v4.18", "[-path=/sql, up]"), found("migrate up")},
		{"flyway by its image", image("flyway/flyway:11", "[-url=jdbc:postgresql://db/shop, migrate]"), found("flyway migrate")},
		{"flyway only looks", image("flyway/flyway:11", "[info]"), nil},
		{"liquibase with a digest", image("liquibase@sha256:"+strings.Repeat("0", 64), "[--changelog-file=a.xml, update]"), found("liquibase update")},
		{"an application's own word", runs("args: [migrate, --lock-timeout=60s]"), found("migrate")},
		{"in a script of a shell", runs(`command: [sh, -c, "set -e; bundle exec rails db:migrate && touch /done"]`), found("db:migrate")},
		{"a path to the program", runs("command: [/usr/local/bin/goose]", "args: [-dir, /sql, postgres, up]"), found("goose up")},
		{"under the ledger", runs("command: [/hallmark, ledger, run]", "args: [--change-key=checkout:add-index:v1, --, flyway, migrate]"), nil},
		{"under the ledger, the key by itself", runs("command: [hallmark, ledger, run, --change-key, checkout:v1, --, flyway, migrate]"), nil},
		{"under the ledger without a key", runs("command: [hallmark, ledger, run, --, flyway, migrate]"), []string{at + `the container "checkout" runs a command under the ledger without --change-key`}},
		{"by its name", strings.Replace(runs("args: [schema]"), "name: checkout", "name: checkout-migrations", 1), []string{": the Job is a migration by its name and runs without a change key"}},
		{"no hook", job("", "", "args: [alembic, upgrade, head]"), found("alembic upgrade")},
		{"a test of Helm", job("", "", "args: [migrate]", "helm.sh/hook: test"), nil},
		{"something else", runs("args: [smoke, --migrated]"), nil},
		{"up without a tool", runs("args: [scale, up]"), nil},
		{"the migration of stored resources", strings.Replace(runs("args: [run]"), "name: checkout", "name: storage-version-migration", 1), nil},
	}
	for command, tool := range map[string]string{
		"npx prisma migrate deploy": "prisma migrate", "npx knex migrate:latest": "migrate:latest", "python manage.py migrate": "manage.py migrate",
		"dbmate --wait up": "dbmate up", "sqitch deploy": "sqitch deploy", "atlas migrate apply --env prod": "atlas apply", "php artisan migrate --force": "migrate",
		"flask db upgrade": "flask upgrade", "dotnet ef database update": "ef update", "typeorm migration:run": "typeorm migration:run", "gh-ost --execute": "gh-ost",
	} {
		cases = append(cases, ruleCase{command, runs("args: [" + strings.Join(strings.Fields(command), ", ") + "]"), found(tool)})
	}
	runCases(t, "job-change-key", bookOptions(), cases)
}

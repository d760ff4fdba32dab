package e2e

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hallmark.dev/hallmark/e2e/argocd"
	"hallmark.dev/hallmark/e2e/wait"
)

// comparisonError waits until an Application has a ComparisonError that holds
// each of want, and returns its message.
func (e *env) comparisonError(t *testing.T, app string, want ...string) string {
	t.Helper()
	found := e.WaitFor(t, app, fmt.Sprintf("has a ComparisonError with %q", want), func(app *argocd.Application) error {
		message := app.Condition("ComparisonError")
		for _, text := range want {
			if !strings.Contains(message, text) {
				return fmt.Errorf("the ComparisonError is %q", message)
			}
		}
		return nil
	})
	message := found.Condition("ComparisonError")
	t.Logf("condition of %s: %s", app, message)
	return message
}

// running fails unless the process that was started is the one that answers.
func running(t *testing.T, sidecar *argocd.Sidecar) {
	t.Helper()
	if err := sidecar.Ended(); err != nil {
		t.Error(err)
	}
}

// sealed deploys a SOPS chart and a SOPS overlay: with a key that does not open
// them, with the one that does, without it again, and with the next one.
func sealed(t *testing.T, e *env) {
	const name, words, newWords = "hallmark-sealed", "wJ8kqzXv3RtLm5", "hB6ndYcFq2PzsK"
	other, key, next := newKey(t), newKey(t), newKey(t)
	keys := newMount(t, keyFile(other))
	rules := newMount(t, map[string]string{"policy.yaml": `apiVersion: hallmark.dev/v1
kind: RenderPolicy
spec:
  rules:
    - name: sealed
      match: {namespace: sealed-*}
      decryption: {keys: [age], outsideSecrets: deny}
`})
	sidecar := e.Serve(t, name, "", "--policy", filepath.Join(rules.dir, "policy.yaml"), "--keys", keys.dir)
	keyPath := filepath.Join(keys.dir, "age.txt")
	repo := argocd.NewRepository(t)
	forms := sealedForms(words)
	for _, form := range forms {
		form.write(t, repo, key)
	}
	first := repo.Commit(t, "encrypted")

	// What is said of the wrong key: the file, whom it is for, and what was tried.
	refused := func(form sealedForm, wants, tried ageKey) {
		t.Helper()
		message := e.comparisonError(t, form.name, form.name+"/"+form.refusedAt+": cannot be decrypted: it is encrypted for "+
			wants.public+"; tried "+tried.public+" ("+keyPath+")")
		holdsNone(t, "the ComparisonError", message, words, newWords, strings.TrimSpace(tried.private))
		if strings.Contains(message, "ENC[") {
			t.Error("the ComparisonError holds ciphertext")
		}
	}
	for _, form := range forms {
		e.Create(t, form.name, form.name, use(repo, form.name, name, form.parameters...), argocd.AutoSync())
	}
	for _, form := range forms {
		refused(form, key, other)
		e.sameSecrets(t, form.name, nil)
		if done := sidecar.Entries(t, "generated", form.name); len(done) > 0 {
			t.Errorf("%s was rendered without a key: %+v", form.name, done)
		}
	}

	keys.change(t, keyFile(key))
	before := map[string]snapshot{}
	for _, form := range forms {
		e.Refresh(t, form.name, true) // hard, for Argo CD remembers errors of a revision
		app := e.WaitSynced(t, form.name, first)
		e.sameSecrets(t, form.name, form.want)
		entry := sidecar.Generated(t, form.name, first, "")
		if len(entry.Decrypted) != len(form.encrypted) {
			t.Errorf("%s: the files %v were decrypted, want %d", form.name, entry.Decrypted, len(form.encrypted))
		}
		for _, file := range entry.Decrypted {
			_, encrypted := form.encrypted[strings.TrimPrefix(file.Path, form.name+"/")]
			if !encrypted || !slices.Equal(file.Keys, []string{key.public}) {
				t.Errorf("%s was decrypted with %q, want a file of %s and the key %s", file.Path, file.Keys, form.name, key.public)
			}
		}
		before[form.name] = e.snapshot(t, app)
	}

	// A key that was taken away opens nothing any more, and what it opened stays.
	keys.change(t, keyFile(next))
	for _, form := range forms {
		e.Refresh(t, form.name, true)
		refused(form, key, next)
		app, err := e.Application(form.name)
		if err != nil {
			t.Fatal(err)
		}
		e.untouched(t, app, before[form.name])
		e.sameSecrets(t, form.name, form.want)
	}
	forms = sealedForms(newWords)
	for _, form := range forms {
		form.write(t, repo, next)
	}
	second := repo.Commit(t, "encrypted for the next key")
	for _, form := range forms {
		e.Refresh(t, form.name, false)
		e.WaitSynced(t, form.name, second)
		e.sameSecrets(t, form.name, form.want)
	}
	running(t, sidecar)

	// The values are where they belong and nowhere else.
	private := func(k ageKey) string { return strings.TrimSpace(k.private) }
	holdsNone(t, "the log of the sidecar", string(sidecar.Log()), words, newWords, private(other), private(key), private(next))
	logs, err := os.ReadDir(e.Cluster.Logs)
	if err != nil || len(logs) == 0 {
		t.Fatalf("%d logs: %v", len(logs), err)
	}
	for _, log := range logs {
		holdsNone(t, log.Name(), string(readFile(t, filepath.Join(e.Cluster.Logs, log.Name()))), words, newWords)
	}
}

// policed moves an Application through versions of a policy that replace each
// other under a running sidecar.
func policed(t *testing.T, e *env) {
	const app, name = "policed", "hallmark-policed"
	key, foreign := newKey(t), newKey(t)
	keys := newMount(t, map[string]string{"age.txt": key.private, "another-team.txt": foreign.private})
	form := sealedForms("tV9xkqWz4HjRm2")[0]
	repo := argocd.NewRepository(t)
	form.write(t, repo, key)
	copied := form // ciphertext of another team
	copied.name = "copied"
	copied.write(t, repo, foreign)
	repo.Publish(t, "/payments/sealed.git")
	// An address that the rule does not match leads to the same repository.
	elsewhere := *repo
	elsewhere.Publish(t, "/other/sealed.git")
	first := repo.Commit(t, "encrypted")

	policy := func(decryption string) map[string]string {
		return map[string]string{"policy.yaml": `apiVersion: hallmark.dev/v1
kind: RenderPolicy
spec:
  rules:
    # Argo CD sends the project from version 3 on.
    - name: by project
      match: {project: default, namespace: policed-project}
      decryption: {keys: [age]}
    - name: payments
      match:
        repoURL: ` + strings.TrimSuffix(repo.URL, "sealed.git") + `*
        namespace: policed
      renderers: [helm3, helm4]
` + decryption + `
    - name: everybody else
      match: {}
`}
	}
	allowed := "      decryption: {keys: [{age: " + key.public + "}]}"
	rules := newMount(t, policy(""))
	file := filepath.Join(rules.dir, "policy.yaml")
	sidecar := e.Serve(t, name, "", "--policy", file, "--keys", keys.dir)
	reload := func(want string) {
		t.Helper()
		if got, err := sidecar.Metric("hallmark_policy_last_reload_successful"); err != nil || got != want {
			t.Errorf("hallmark_policy_last_reload_successful: got %q, %v, want %q", got, err, want)
		}
	}
	source := func(repo *argocd.Repository, more ...argocd.Parameter) argocd.Source {
		return use(repo, form.name, name, append(form.parameters, more...)...)
	}

	// A rule without decryption.
	reload("1")
	e.Create(t, app, app, source(repo), argocd.AutoSync())
	byRule := fmt.Sprintf("may not be decrypted: rule %q (%s:", "payments", file)
	e.comparisonError(t, app, form.name+"/secrets.yaml: ", byRule)
	e.sameSecrets(t, app, nil)

	// The same rule with it.
	rules.change(t, policy(allowed))
	e.Refresh(t, app, true)
	before := e.snapshot(t, e.WaitSynced(t, app, first))
	e.sameSecrets(t, app, form.want)

	t.Run("wishes", func(t *testing.T) {
		for _, wish := range []struct {
			app, namespace string
			source         argocd.Source
			want           string
		}{
			{"policed-warn", app, source(repo, argocd.Parameter{Name: "determinism", String: "warn"}),
				`parameter "determinism": "warn" is weaker than "enforce", which holds by rule "payments" (` + file + ":"},
			{"policed-derive", app, source(repo, argocd.Parameter{Name: "determinism", String: "derive"}),
				`parameter "determinism": "derive" is not allowed by rule "payments" (` + file + ":"},
			{"policed-empty", app, source(repo, argocd.Parameter{Name: "allow-empty", String: "true"}),
				`parameter "allow-empty": an empty render is not allowed by rule "payments" (` + file + ":"},
			{"policed-renderer", app, source(repo, renderer("plain")),
				`the renderer "plain" is not allowed by rule "payments" (` + file + ":"},
			{"policed-copied", app, use(repo, copied.name, name, form.parameters...),
				"cannot be decrypted: it is encrypted for " + foreign.public + "; tried " + key.public + " (" + filepath.Join(keys.dir, "age.txt") + "); not allowed: " + foreign.public},
			{"policed-elsewhere", app, source(&elsewhere), `may not be decrypted: rule "everybody else" (` + file + ":"},
			{"policed-namespace", "policed-other", source(repo), `may not be decrypted: rule "everybody else" (` + file + ":"},
		} {
			e.Create(t, wish.app, wish.namespace, wish.source, argocd.AutoSync())
			message := e.comparisonError(t, wish.app, wish.want)
			holdsNone(t, "the ComparisonError", message, form.want["login"]["password"])
		}
	})
	t.Run("project", func(t *testing.T) {
		const app = "policed-project"
		e.Create(t, app, app, source(repo), argocd.AutoSync())
		if e.Release.Version == "2.14" {
			e.comparisonError(t, app, `rule "everybody else"`)
			return
		}
		e.WaitSynced(t, app, first)
		e.sameSecrets(t, app, form.want)
	})
	t.Run("no policy", func(t *testing.T) {
		const app = "policed-none"
		e.Create(t, app, app, use(repo, form.name, plugin, form.parameters...), argocd.AutoSync())
		e.comparisonError(t, app, form.name+"/secrets.yaml: the file is encrypted with SOPS and may not be decrypted: no policy allows it")
		e.sameSecrets(t, app, nil)
	})

	// A broken policy leaves the rules as they were.
	broken := policy("      decryption: {keys: [rot13]}")
	rules.change(t, broken)
	reload("0")
	const remark = "the policy changed and is not taken"
	if log := sidecar.TailOf(remark); !strings.Contains(log, `rot13`) || !strings.Contains(log, file) {
		t.Errorf("the log does not say what is wrong with the policy:\n%s", log)
	}
	repo.Write(t, form.name+"/values.yaml", "unused: true\n")
	second := repo.Commit(t, "while the policy is broken")
	e.Refresh(t, app, false)
	e.WaitSynced(t, app, second)
	reload("0")

	// One that takes decryption away holds at once, whatever was rendered before.
	rules.change(t, policy(""))
	reload("1")
	e.Refresh(t, app, true)
	e.comparisonError(t, app, byRule)
	now, err := e.Application(app)
	if err != nil {
		t.Fatal(err)
	}
	e.untouched(t, now, before)
	e.sameSecrets(t, app, form.want)
	running(t, sidecar)
}

// landlocked shows that a server that confined itself reads what its mounts hold
// and not where links in them lead, and that one that did not confine itself
// would.
func landlocked(t *testing.T, e *env) {
	const policy = "apiVersion: hallmark.dev/v1\nkind: RenderPolicy\nspec:\n  rules:\n    - name: all\n      decryption: {keys: [age]}\n"
	other, key := newKey(t), newKey(t)
	form := sealedForms("zR5wqkXv8TbNm3")[0]
	repo := argocd.NewRepository(t)
	form.write(t, repo, key)
	revision := repo.Commit(t, "encrypted")
	outside := newMount(t, map[string]string{"policy.yaml": policy, "age.txt": key.private})

	for _, mode := range []string{"auto", "off"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			name, app := "hallmark-landlock-"+mode, "landlocked-"+mode
			rules := newMount(t, map[string]string{"policy.yaml": strings.Replace(policy, "      decryption: {keys: [age]}\n", "", 1)})
			keys := newMount(t, keyFile(other))
			sidecar := e.Serve(t, name, "", "--landlock", mode, "--policy", filepath.Join(rules.dir, "policy.yaml"), "--keys", keys.dir)
			wait.Until(t, "the server serves", func() error {
				if sidecar.TailOf(`"msg":"serving"`) == "" {
					return errors.New("its log does not say so")
				}
				return nil
			}, sidecar.Tail)
			switch off := sidecar.TailOf("not confined: "); {
			case mode == "off" && off == "":
				t.Error("the log does not say that the server is not confined")
			case mode == "auto" && off != "":
				missing(t, "the kernel does not confine: %s", off)
			case mode == "auto" && sidecar.TailOf("confined to reading its mounts") == "":
				t.Error("the log does not say that the server is confined")
			}

			// As if somebody got at the mounts.
			rules.divert(t, "policy.yaml", filepath.Join(outside.dir, "policy.yaml"))
			e.Create(t, app, app, use(repo, form.name, name, form.parameters...), argocd.AutoSync())
			if mode == "auto" {
				e.comparisonError(t, app, `may not be decrypted: rule "all"`)
				if log := sidecar.TailOf("the policy changed and is not taken"); !strings.Contains(log, "permission denied") {
					t.Errorf("the log does not say that the policy cannot be read:\n%s", log)
				}
				rules.divert(t, "policy.yaml", filepath.Join(present, "policy.yaml"))
				rules.change(t, map[string]string{"policy.yaml": policy})
				e.Refresh(t, app, true)
			}
			tried := other.public + " (" + filepath.Join(keys.dir, "age.txt") + ")"
			e.comparisonError(t, app, "it is encrypted for "+key.public+"; tried "+tried)
			keys.divert(t, "age.txt", filepath.Join(outside.dir, "age.txt"))
			e.Refresh(t, app, true)
			if mode == "auto" {
				e.comparisonError(t, app, "there is no key to try; not usable: "+filepath.Join(keys.dir, "age.txt")+" cannot be read: permission denied")
				e.sameSecrets(t, app, nil)
				// In a mount it can be read.
				keys.divert(t, "age.txt", filepath.Join(present, "age.txt"))
				keys.change(t, keyFile(key))
				e.Refresh(t, app, true)
			}
			e.WaitSynced(t, app, revision)
			e.sameSecrets(t, app, form.want)
			running(t, sidecar)
		})
	}
}

package main

import (
	"fmt"
	"strings"

	"hallmark.dev/hallmark/health/lint"
)

// What `hallmark health lint` says to a person.

const healthLintHelp = `Find the faults of health scripts that were written by hand: a .lua file, or the scripts
in an argocd-cm (a .yaml file: the ConfigMap, its data alone, values of the argo-cd Helm
chart, or an ArgoCD resource of the operator), and the faults of the argocd-cm itself.

A script runs in Argo CD's own Lua VM, on objects that are made up from what the script
looks at, on those of --objects, and on hundreds of changes of each: no status, an empty
list, a condition without a message, another order, an older generation. Each finding
names the object that shows it, and -o json has the object. What a script could reach of
this machine (files, programs) is taken away before it runs; its memory is not bounded.

An error is a fault on an object that a cluster can hold. A warning is one on an object
that the kind's schema would most likely refuse, or a question of judgement about an
object that was made up; --objects makes it an error where a real object shows it. Only
errors, or with --strict warnings too, make the command fail.

With -o json the result is one object:

  linted    how many files there were
  errors, warnings
            how many findings there are
  rules     for each rule that found something its errors, warnings and files
  findings  each with file, line, key (of the ConfigMap), rule, severity, message, hint,
            case (the object that shows it), cases (how many do) and object

The rules:

`

const healthLintExample = `  hallmark health lint health.lua --group cert-manager.io --kind Certificate
  kubectl get certificate -A -o yaml > objects.yaml; hallmark health lint health.lua --objects objects.yaml
  kubectl get configmap argocd-cm -n argocd -o yaml | hallmark health lint -
  hallmark health lint --argocd-builtin --summary`

// lintRulesHelp lists the rules, wrapped.
func lintRulesHelp() string {
	const indent, width = 26, 90
	var b strings.Builder
	for _, rule := range lint.Rules() {
		fmt.Fprintf(&b, "  %-*s", indent-2, rule.Rule)
		column := indent
		for i, word := range strings.Fields(rule.Text) {
			if i > 0 && column+1+len(word) > width {
				fmt.Fprintf(&b, "\n%*s", indent, "")
				column = indent
			} else if i > 0 {
				b.WriteByte(' ')
				column++
			}
			b.WriteString(word)
			column += len(word)
		}
		b.WriteByte('\n')
	}
	return strings.TrimSuffix(b.String(), "\n")
}

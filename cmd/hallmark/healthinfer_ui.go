package main

// What `hallmark health infer` says to a person.

const healthInferHelp = `Draft a HealthCheck for each CustomResourceDefinition in FILE (v1 or v1beta1; of several
versions the one that is stored counts) and print it as YAML.

A schema says which fields a status has and hardly ever what they mean, so a draft is
made of guesses. Above each line stands what it rests on: a printer column, an enum, a
list of values or condition types in a description, a field's name, or what objects
given with -f have. At the top stands what a person has to decide before the draft is
used: whether Ready=False is a failure or passes, what a value means that is in no word
list, what else looks as if it counted.

A draft has no faults, so "hallmark health test" and "hallmark health eval" take it as it
is. It never calls an object Healthy for want of knowledge: where nothing says when an
object is Healthy, the rule asks for a field "replaceMe" that no object has.

What is looked for, and the word lists, are described in the package comment of
health/infer and in its words.go.`

const healthInferExample = `  hallmark health infer --crd crd.yaml > widget.yaml
  kubectl get crd widgets.example.com -o yaml | hallmark health infer --crd -
  kubectl get widgets -A -o yaml | hallmark health infer --crd crd.yaml -f - > widget.yaml`

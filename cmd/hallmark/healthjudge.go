package main

import (
	"errors"
	"fmt"
	"time"

	"hallmark.dev/hallmark/health"
	"hallmark.dev/hallmark/health/eval"
	"hallmark.dev/hallmark/health/export"
	"hallmark.dev/hallmark/health/lint"
	"hallmark.dev/hallmark/health/suite"
	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/internal/object"
	"hallmark.dev/hallmark/lua/vm"
)

// judges are the checks that objects are judged by, in the order in which they are
// asked: specs, an argocd-cm and behind it the scripts that Argo CD brings along,
// one script for the rest.
type judges struct {
	specs     *export.Selector
	scripts   map[*health.Check]judge
	configMap *lint.Checks
	file      string // of configMap
	rest      *judge
}

// judge is one script.
type judge struct {
	name     string
	script   string
	openLibs bool
	oracle   *eval.Evaluator // of a spec, to tell which rule it was
	rules    []health.Rule
}

func (j *judges) addSpecs(subjects []suite.Subject, now func() time.Time) (err error) {
	if j.specs, err = export.NewSelector(scriptsOf(subjects)); err != nil {
		return err
	}
	j.scripts = map[*health.Check]judge{}
	for _, s := range subjects {
		oracle, err := eval.New(s.Check, func() int64 { return now().Unix() })
		if err != nil {
			return err
		}
		j.scripts[s.Check] = judge{
			name: s.Check.File + ": " + s.Check.Name, script: s.Script, openLibs: s.Check.UseOpenLibs, oracle: oracle, rules: s.Check.Rules,
		}
	}
	return nil
}

func (j *judges) addConfigMap(file string) error {
	data, err := readFile(file, "an argocd-cm", suite.MaxFile)
	if err != nil {
		return err
	}
	j.file = file
	j.configMap, err = lint.Open(file, data)
	return err
}

func (j *judges) addLua(file string, openLibs bool) error {
	data, err := readFile(file, "a health script", suite.MaxFile)
	if err != nil {
		return err
	}
	if err := vm.Load(string(data)); err != nil {
		return luaFault(file, err)
	}
	j.rest = &judge{name: file, script: string(data), openLibs: openLibs}
	return nil
}

// luaFault puts the file in front of what is wrong with a script.
func luaFault(file string, err error) error {
	if e, ok := errors.AsType[*vm.Error](err); ok {
		return &diag.Error{File: file, Line: e.Line, Msg: e.Msg}
	}
	return fmt.Errorf("%s: %w", file, err)
}

// find returns the check for a kind.
func (j *judges) find(group, kind string) (judge, string, bool) {
	if j.specs != nil {
		if check := j.specs.For(group, kind); check != nil {
			return j.scripts[check], "", true
		}
	}
	if j.configMap != nil {
		if c, ok := j.configMap.For(group, kind); ok {
			note := ""
			if len(c.Others) > 0 {
				note = fmt.Sprintf(" (%q matches too, and Argo CD takes one at random)", c.Others)
			}
			return judge{name: j.file + ": " + c.Key, script: c.Script, openLibs: c.OpenLibs}, note, true
		}
		if script, ok := vm.Builtin(group, kind); ok {
			return judge{name: "built into Argo CD " + vm.ArgoCD, script: script, openLibs: true}, "", true
		}
	}
	if j.rest != nil {
		return *j.rest, "", true
	}
	return judge{}, "", false
}

func (j *judges) judge(o evalObject) evalRow {
	id := object.Object{Value: o.value}.ID()
	row := evalRow{Kind: id.Kind, Group: id.Group, Namespace: id.Namespace, Name: id.Name}
	metadata, _ := o.value["metadata"].(map[string]any)
	found, note, ok := j.find(id.Group, id.Kind)
	if _, deleted := metadata["deletionTimestamp"].(string); deleted || !ok {
		// Argo CD asks no script about an object that is being deleted.
		return j.native(row, o.value)
	}
	row.Check = found.name
	verdict, err := vm.Run(found.script, found.openLibs, o.value)
	switch {
	case err != nil:
		row.Status, row.Message = statusError, luaFault("", err).Error()+note
		return row
	case verdict.Status == "":
		row.Status, row.Message = statusEmpty, "the script returned no status: a wave would wait for ever, and a hook would pass"+note
		return row
	}
	row.Status, row.Message = verdict.Status, verdict.Message+note
	if found.oracle != nil {
		row.Rule = found.rules[found.oracle.Eval(o.value).Rule].Label
	}
	return row
}

// native is what Argo CD says without a script.
func (j *judges) native(row evalRow, object map[string]any) evalRow {
	verdict, ok, err := vm.Native(object)
	switch {
	case err != nil:
		row.Status, row.Message = statusError, err.Error()
	case !ok:
		row.Status, row.Message = statusUnchecked, "no check is for this kind"
		return row
	default:
		row.Status, row.Message = verdict.Status, verdict.Message
	}
	row.Check = "code of Argo CD " + vm.ArgoCD
	return row
}

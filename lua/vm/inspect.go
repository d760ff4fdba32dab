package vm

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	argolua "github.com/argoproj/argo-cd/v2/util/lua"
	lua "github.com/yuin/gopher-lua"
	luajson "layeh.com/gopher-json"
)

// Return is what a script returned, before Argo CD makes a verdict of it. Run
// hides most of it: a message of the wrong type, for instance, erases the status
// without an error.
type Return struct {
	// Type is the Lua type of the value: nil (also where nothing was returned),
	// table, string, number, boolean, function.
	Type string
	// Empty is true for a table without entries.
	Empty bool
	// Values is how many values were returned. The last one counts.
	Values int
	// Status and Message are the entries of a table that Argo CD reads.
	Status, Message Entry

	json []byte // of a table
	err  error  // the table has no JSON form
}

// Entry is one entry of the returned table.
type Entry struct {
	// Type is its Lua type, nil where there is no such entry.
	Type string
	// Text is its text, "" where it is not a string, number or boolean.
	Text string
}

// Inspect runs script as [Run] does, in a state that is set up as Argo CD sets it
// up, and tells what it returned. The entries of a table are visited by pairs in
// the order of their keys, where Argo CD has them in a random order; so the same
// object gives the same answer. The error is the script's, an [*Error].
func Inspect(script string, openLibs bool, obj map[string]any) (r Return, err error) {
	defer recovered(&err)
	proto, err := compiled(script)
	if err != nil {
		return Return{}, err
	}
	return execute(proto, openLibs, obj, ascending)
}

// Script is a compiled script, to run it on many objects. It may be used by
// several goroutines.
type Script struct {
	proto    *lua.FunctionProto
	openLibs bool
}

// Compile is [Load] for a script that will be run. See [Run] for openLibs.
func Compile(script string, openLibs bool) (s *Script, err error) {
	defer recovered(&err)
	proto, err := compiled(script)
	if err != nil {
		return nil, err
	}
	return &Script{proto: proto, openLibs: openLibs}, nil
}

// Inspect is the function [Inspect] for a compiled script.
func (s *Script) Inspect(obj map[string]any) (r Return, err error) {
	defer recovered(&err)
	return execute(s.proto, s.openLibs, obj, ascending)
}

// InspectReversed is Inspect with the keys of each table in the opposite order. A
// script for which the answers differ depends on the order in which pairs visits a
// table, which is random in Argo CD.
func (s *Script) InspectReversed(obj map[string]any) (r Return, err error) {
	defer recovered(&err)
	return execute(s.proto, s.openLibs, obj, descending)
}

// timeout is how long Argo CD lets a script run.
const timeout = time.Second

// newState sets an interpreter up as Argo CD does, without the fence.
func newState(openLibs bool) (*lua.LState, error) {
	state := lua.NewState(lua.Options{SkipOpenLibs: !openLibs})
	// The libraries in Argo CD's order. Its os is registered under the name of the
	// table library, which is there already, so a script finds no global os; only
	// require("os") gives it.
	for _, library := range []struct {
		name string
		open lua.LGFunction
	}{
		{lua.LoadLibName, lua.OpenPackage},
		{lua.BaseLibName, lua.OpenBase},
		{lua.TabLibName, lua.OpenTable},
		{lua.OsLibName, argolua.OpenSafeOs},
	} {
		call := lua.P{Fn: state.NewFunction(library.open), Protect: true}
		if err := state.CallByParam(call, lua.LString(library.name)); err != nil {
			state.Close()
			return nil, scriptError(err)
		}
	}
	state.PreloadModule(lua.OsLibName, argolua.SafeOsLoader)
	return state, nil
}

func execute(proto *lua.FunctionProto, openLibs bool, obj map[string]any, order order) (Return, error) {
	state, err := newState(openLibs)
	if err != nil {
		return Return{}, err
	}
	defer state.Close()
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	state.SetContext(ctx)
	state.SetGlobal("obj", toLua(state, obj, order))
	state.Push(state.NewFunctionFromProto(proto))
	if err := state.PCall(0, lua.MultRet, nil); err != nil {
		return Return{}, scriptError(err)
	}
	return describe(state.Get(-1), state.GetTop()), nil
}

func describe(value lua.LValue, values int) Return {
	r := Return{Type: value.Type().String(), Values: values, Status: Entry{Type: "nil"}, Message: Entry{Type: "nil"}}
	table, ok := value.(*lua.LTable)
	if !ok {
		return r
	}
	first, _ := table.Next(lua.LNil)
	r.Empty = first == lua.LNil
	if r.json, r.err = luajson.Encode(table); r.err != nil {
		r.err = scriptError(r.err)
	}
	// The JSON decoder finds a field by its name in any case. Of several it keeps
	// the last, and the encoder sorts them.
	entries := map[string]lua.LValue{}
	table.ForEach(func(key, value lua.LValue) {
		if text, ok := key.(lua.LString); ok {
			entries[string(text)] = value
		}
	})
	for _, key := range slices.Sorted(maps.Keys(entries)) {
		switch {
		case strings.EqualFold(key, "status"):
			r.Status = describeEntry(entries[key])
		case strings.EqualFold(key, "message"):
			r.Message = describeEntry(entries[key])
		}
	}
	return r
}

func describeEntry(value lua.LValue) Entry {
	f := Entry{Type: value.Type().String()}
	switch value.(type) {
	case lua.LString, lua.LNumber, lua.LBool:
		f.Text = value.String()
	}
	return f
}

// Verdict is what Argo CD makes of the value. The error is an [*Error].
func (r Return) Verdict() (Verdict, error) {
	switch r.Type {
	case "nil":
		return Verdict{}, nil
	case "table":
	default:
		return Verdict{}, scriptError(fmt.Errorf("expect table output from Lua script, not %s", r.Type))
	}
	if r.err != nil {
		return Verdict{}, r.err
	}
	var fields struct{ Status, Message string }
	if err := json.Unmarshal(r.json, &fields); err != nil {
		// This is meant for {}, which is [] in JSON, but it takes a status or a
		// message of any other type with it.
		if mismatch := (*json.UnmarshalTypeError)(nil); errors.As(err, &mismatch) {
			return Verdict{}, nil
		}
		return Verdict{}, scriptError(err)
	}
	if !Valid(fields.Status) {
		return Verdict{Status: "Unknown", Message: "Lua returned an invalid health status"}, nil
	}
	return Verdict{Status: fields.Status, Message: fields.Message}, nil
}

// Valid tells whether Argo CD knows the status. It is case-sensitive, and "" is
// not a status.
func Valid(status string) bool {
	switch status {
	case "Healthy", "Progressing", "Degraded", "Suspended", "Missing", "Unknown":
		return true
	}
	return false
}

// order is the order of the keys of a table.
type order func(a, b string) int

func ascending(a, b string) int  { return cmp.Compare(a, b) }
func descending(a, b string) int { return cmp.Compare(b, a) }

// toLua converts a value of an object. A null is no value: in a list the next
// entry takes its place. json.Number is a text in Argo CD, so it is one here.
func toLua(state *lua.LState, value any, order order) lua.LValue {
	switch value := value.(type) {
	case map[string]any:
		table := state.CreateTable(0, len(value))
		for _, key := range slices.SortedFunc(maps.Keys(value), order) {
			table.RawSetH(lua.LString(key), toLua(state, value[key], order))
		}
		return table
	case []any:
		table := state.CreateTable(len(value), 0)
		for _, item := range value {
			table.Append(toLua(state, item, order))
		}
		return table
	case string:
		return lua.LString(value)
	case json.Number:
		return lua.LString(value)
	case bool:
		return lua.LBool(value)
	case int64:
		return lua.LNumber(value)
	case float64:
		return lua.LNumber(value)
	case int:
		return lua.LNumber(value)
	case int32:
		return lua.LNumber(value)
	}
	return lua.LNil
}

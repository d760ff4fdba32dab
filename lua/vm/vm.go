package vm

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	argolua "github.com/argoproj/argo-cd/v2/util/lua"
	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Verdict is what Argo CD shows of an object. An empty Status is not an error to
// Argo CD: a sync wave waits for ever, a hook passes, an application counts it as
// Healthy.
type Verdict struct{ Status, Message string }

// Run judges obj by script with Argo CD's own code. openLibs is the
// useOpenLibs of argocd-cm: off unless somebody switched it on, always on for the
// scripts that Argo CD brings along. The values of obj are those of a decoded
// Kubernetes object: int64 and float64 for numbers, or float64 alone.
//
// The error is the script's, an [*Error]: it raised, ran for longer than a second,
// or returned what cannot be a verdict.
func Run(script string, openLibs bool, obj map[string]any) (v Verdict, err error) {
	defer recovered(&err)
	machine := argolua.VM{UseOpenLibs: openLibs}
	status, err := machine.ExecuteHealthLua(&unstructured.Unstructured{Object: obj}, fence+script)
	if err != nil {
		if syntax := Load(script); syntax != nil {
			return Verdict{}, syntax // with the columns of the script itself
		}
		return Verdict{}, scriptError(err)
	}
	return Verdict{Status: string(status.Status), Message: status.Message}, nil
}

// fence runs in front of each script, on its first line so that the lines of its
// errors stay what they are. It takes away what would reach from a script to the
// machine that judges it, where a script is somebody's input and may be hostile:
//
//   - print is silent. In Argo CD it writes to the controller's log, here it would
//     write into the result of the command.
//   - No file is read: dofile, loadfile, and require of a file are gone.
//   - With openLibs, the functions of os that do more than tell the time are gone,
//     and so are io and channel, which can wait for ever.
//
// A script that calls one of them raises.
const fence = `do ` +
	`print = function() end; _printregs = print; dofile = nil; loadfile = nil; package.loaders[2] = nil; ` +
	`if io then ` +
	`for _, name in ipairs({"execute", "exit", "getenv", "remove", "rename", "setenv", "setlocale", "tmpname"}) do os[name] = nil end; ` +
	`for name in pairs(io) do io[name] = nil end; ` +
	`io = nil; package.loaded.io = nil; channel = nil; package.loaded.channel = nil; ` +
	`end; end; `

// Load compiles script without running it. The error is an [*Error]: of the syntax,
// or of a limit such as that of 200 local variables in a function.
func Load(script string) (err error) {
	defer recovered(&err)
	_, err = compiled(script)
	return err
}

// compiled is what the interpreter makes of a script before it runs it, behind the
// fence.
func compiled(script string) (*lua.FunctionProto, error) {
	proto, err := compileChunk(fence + script)
	if err != nil {
		if _, plain := compileChunk(script); plain != nil {
			err = plain
		}
	}
	return proto, err
}

// compileChunk gives the chunk the name that Argo CD's errors show.
func compileChunk(script string) (*lua.FunctionProto, error) {
	const chunk = "<string>"
	statements, err := parse.Parse(strings.NewReader(script), chunk)
	if err != nil {
		return nil, scriptError(err)
	}
	proto, err := lua.Compile(statements, chunk)
	if err != nil {
		return nil, scriptError(err)
	}
	return proto, nil
}

// Error is what went wrong with a script.
type Error struct {
	// Line is the 1-based line of the script, 0 where it is not known.
	Line int
	// Msg is one line, without the position and without a stack trace.
	Msg string
	// Cause has the whole text, as Argo CD shows it.
	Cause error
}

// Error is the whole text, as Argo CD shows it.
func (e *Error) Error() string { return e.Cause.Error() }

// Unwrap gives the interpreter's error.
func (e *Error) Unwrap() error { return e.Cause }

func scriptError(err error) error {
	e, text, inner := &Error{Cause: err}, err.Error(), err
	if api := (*lua.ApiError)(nil); errors.As(err, &api) {
		text = api.Object.String() // without the stack trace
		if api.Object.Type() != lua.LTString {
			text = fmt.Sprintf("an error that is no text but a %s", api.Object.Type())
		}
		if api.Cause != nil {
			inner = api.Cause
		}
	}
	if syntax := (*parse.Error)(nil); errors.As(inner, &syntax) {
		e.Line, e.Msg = syntax.Pos.Line, syntax.Message
		if syntax.Token != "" {
			e.Msg = fmt.Sprintf("%s near %q", syntax.Message, syntax.Token)
		}
		if syntax.Pos.Line == parse.EOF {
			e.Line, e.Msg = 0, syntax.Message+" at the end of the script"
		}
		return e
	}
	if limit := (*lua.CompileError)(nil); errors.As(inner, &limit) {
		e.Line, e.Msg = limit.Line, limit.Message
		return e
	}
	e.Line, e.Msg = position(text)
	return e
}

// position takes "<string>:12: text" apart.
func position(text string) (line int, msg string) {
	text, _, _ = strings.Cut(text, "\n")
	rest, found := strings.CutPrefix(text, "<string>:")
	if !found {
		return 0, text
	}
	number, rest, found := strings.Cut(rest, ":")
	line, err := strconv.Atoi(number)
	if !found || err != nil {
		return 0, text
	}
	return line, strings.TrimSpace(rest)
}

// recovered makes a panic of the interpreter an error of the script. It is the one
// edge of this package that guards it.
func recovered(err *error) {
	if r := recover(); r != nil {
		cause := fmt.Errorf("the interpreter gave up: %v", r)
		*err = &Error{Msg: cause.Error(), Cause: cause}
	}
}

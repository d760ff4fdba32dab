package eval

import (
	"math"
	"strconv"

	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"

	"hallmark.dev/hallmark/health"
)

// bounds makes errors of the results that Lua cannot have.
type bounds struct{ openLibs bool }

// decorate wraps the calls and constructors that may give one.
func (b bounds) decorate(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
	if _, isConst := i.(interpreter.InterpretableConst); isConst {
		return i, nil
	}
	if call, ok := i.(interpreter.InterpretableCall); ok {
		switch f := call.Function(); f {
		case operators.Add, operators.Subtract, operators.Multiply, operators.Divide, operators.Modulo, operators.Negate:
			return &checked{i, inRange}, nil
		case "int", "string":
			return &converted{i, call, f == "int"}, nil
		case "size":
			return &sized{InterpretableV2: i, of: call.Args()[0], texts: b.openLibs}, nil
		case operators.Equals, operators.NotEquals, operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals:
			allowEmptyTest(f, call.Args())
		}
		return i, nil
	}
	if _, isAttribute := i.(interpreter.InterpretableAttribute); isAttribute {
		return i, nil
	}
	return &checked{i, collected}, nil
}

// checked is an expression whose value is looked at.
type checked struct {
	interpreter.InterpretableV2
	look func(ref.Val) ref.Val
}

func (c *checked) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	return c.look(c.InterpretableV2.Exec(frame))
}

func (c *checked) Eval(vars interpreter.Activation) ref.Val {
	return c.Exec(interpreter.AsFrame(vars))
}

// inRange is what becomes of a result of arithmetic.
func inRange(v ref.Val) ref.Val {
	switch n := v.(type) {
	case types.Int:
		if n > maxWhole || n < -maxWhole {
			return types.NewErr("the number %d is beyond 2^53", int64(n))
		}
	case types.Double:
		return types.NewErr("arithmetic with decimals")
	}
	return collected(v)
}

// collected is what becomes of a new collection: an empty one is both list and
// map, and a map has an order, as those of an object.
func collected(v ref.Val) ref.Val {
	switch c := v.(type) {
	case traits.Mapper:
		if c.Size() == types.IntZero {
			return nothing{}
		}
		if _, done := c.(ordered); !done {
			return ordered{c}
		}
	case traits.Lister:
		if c.Size() == types.IntZero {
			return nothing{}
		}
	}
	return v
}

// converted is int() or string() of a value.
type converted struct {
	interpreter.InterpretableV2
	call  interpreter.InterpretableCall
	toInt bool
}

func (c *converted) Eval(vars interpreter.Activation) ref.Val {
	return c.Exec(interpreter.AsFrame(vars))
}

func (c *converted) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	from := c.call.Args()[0].Exec(frame)
	v := c.InterpretableV2.Exec(frame)
	if text, ok := from.(types.String); ok && c.toInt {
		if n, isInt := v.(types.Int); isInt && strconv.FormatInt(int64(n), 10) != string(text) {
			return types.NewErr("%q is not the canonical form of a whole number", string(text))
		}
	}
	if n, ok := from.(types.Double); ok && !c.toInt && float64(n) == math.Trunc(float64(n)) {
		return types.NewErr("a number beyond 2^53 has no exact text")
	}
	return inRange(v)
}

// sized is size(), which cannot count the characters of a text. In a comparison
// that asks only whether it is empty it need not.
type sized struct {
	interpreter.InterpretableV2
	of    interpreter.InterpretableV2
	texts bool
}

func (s *sized) Eval(vars interpreter.Activation) ref.Val {
	return s.Exec(interpreter.AsFrame(vars))
}

func (s *sized) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	if !s.texts {
		if _, isText := s.of.Exec(frame).(types.String); isText {
			return types.NewErr("the size of a text is not known without Lua's string library")
		}
	}
	return s.InterpretableV2.Exec(frame)
}

// asSized is nil for anything but size().
func asSized(i interpreter.InterpretableV2) *sized {
	s, _ := i.(*sized)
	return s
}

func allowEmptyTest(operator string, args []interpreter.InterpretableV2) {
	left, right := args[0], args[1]
	if asSized(left) == nil {
		left, right, operator = right, left, health.Mirror(operator)
	}
	s := asSized(left)
	literal, isConst := right.(interpreter.InterpretableConst)
	if s == nil || !isConst {
		return
	}
	if n, isInt := literal.Value().(types.Int); isInt {
		if _, ok := health.EmptyTest(operator, int64(n)); ok {
			s.texts = true
		}
	}
}

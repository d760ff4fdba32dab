package print_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"hallmark.dev/hallmark/lua/ast"
	"hallmark.dev/hallmark/lua/print"
	"hallmark.dev/hallmark/lua/vm"
)

// Every text comes back from the VM as it was, and cannot end its literal early.
func FuzzQuote(f *testing.F) {
	for _, s := range []string{"", "a", `"`, `\`, "\n", "\r\n", "\x00", "\x001", "]]", "--[[", "é日本", "\u202e", "\x7f", "\\n", "${x}", "a\tb"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if !utf8.ValidString(s) {
			return // Argo CD makes JSON of the message
		}
		quoted := print.Quote(s)
		if strings.ContainsAny(quoted, "\n\r\x00") {
			t.Errorf("%q is printed as %q", s, quoted)
		}
		got, err := vm.Run("return { status = \"Healthy\", message = "+quoted+" }", false, map[string]any{})
		if err != nil || got.Message != s {
			t.Errorf("%q came back as %q (%v)", s, got.Message, err)
		}
	})
}

// Parentheses stand where the tree needs them and nowhere else.
func TestExpr(t *testing.T) {
	t.Parallel()
	a, b, c := ast.Name("a"), ast.Name("b"), ast.Name("c")
	bin := func(op string, x, y ast.Expr) ast.Expr { return ast.Binary{Op: op, X: x, Y: y} }
	for _, tc := range []struct {
		e    ast.Expr
		want string
	}{
		{bin("and", bin("or", a, b), c), "(a or b) and c"},
		{bin("or", bin("and", a, b), c), "a and b or c"},
		{bin("or", a, bin("or", b, c)), "a or b or c"},
		{bin("-", a, bin("-", b, c)), "a - (b - c)"},
		{bin("-", bin("-", a, b), c), "a - b - c"},
		{bin("*", bin("+", a, b), c), "(a + b) * c"},
		{bin("==", bin("==", a, b), c), "(a == b) == c"},
		{bin("==", a, bin("and", b, c)), "a == (b and c)"},
		{bin("..", a, bin("..", b, c)), "a .. b .. c"},
		{ast.Unary{Op: "not", X: bin("and", a, b)}, "not (a and b)"},
		{ast.Unary{Op: "-", X: ast.Unary{Op: "-", X: a}}, "-(-a)"},
		{ast.Unary{Op: "-", X: ast.Number(-1)}, "-(-1)"},
		{ast.Unary{Op: "#", X: a}, "#a"},
		{bin("-", ast.Number(1), ast.Number(-1)), "1 - -1"},
		{ast.Number(1 << 52), "4503599627370496"},
		{ast.Number(1.5), "1.5"},
		{ast.Number(1e300), "1e+300"},
		{ast.Index{X: a, Key: ast.String("b")}, "a.b"},
		{ast.Index{X: a, Key: ast.String("end")}, `a["end"]`},
		{ast.Index{X: a, Key: ast.String("a.b/c")}, `a["a.b/c"]`},
		{ast.Index{X: ast.String("a"), Key: b}, `("a")[b]`},
		{ast.Index{X: ast.Call{Func: a, Args: []ast.Expr{b}}, Key: ast.Number(1)}, "a(b)[1]"},
		{ast.Call{Func: ast.Function{Params: []string{"x"}, Result: ast.Name("x")}, Args: []ast.Expr{a}}, "(function(x) return x end)(a)"},
		{ast.One{X: ast.Call{Func: a}}, "(a())"},
		{ast.Table{}, "{}"},
		{ast.Table{Items: []ast.Expr{a, ast.Nil{}}, Fields: []ast.Field{{Key: "x", Value: ast.Bool(true)}, {Key: "x-y", Value: b}}}, `{ a, nil, x = true, ["x-y"] = b }`},
	} {
		if got := print.Expr(tc.e); got != tc.want {
			t.Errorf("got %s, want %s", got, tc.want)
		}
		if err := vm.Load("return " + tc.want); err != nil {
			t.Errorf("%s: %v", tc.want, err)
		}
	}
}

// Nothing of a comment can become code.
func TestComment(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"[[ a", "a\nb", "a\rb", "]]", "\u202ea", "a\x00b", "", "  "} {
		script := print.Block([]ast.Stmt{ast.Comment(text), ast.Return{Value: ast.Table{Fields: []ast.Field{{Key: "status", Value: ast.String("Healthy")}}}}})
		got, err := vm.Run(script, false, map[string]any{})
		if err != nil || got.Status != "Healthy" {
			t.Errorf("%q: %+v, %v in\n%s", text, got, err, script)
		}
		for line := range strings.Lines(script) {
			if !strings.HasPrefix(line, "--") && !strings.HasPrefix(line, "return") {
				t.Errorf("%q became %q", text, script)
			}
		}
	}
}

// Loops and chains of alternatives are what Lua takes them for.
func TestBlock(t *testing.T) {
	t.Parallel()
	call := func(arg string) ast.Expr { return ast.Call{Func: ast.Name("f"), Args: []ast.Expr{ast.String(arg)}} }
	got := print.Block([]ast.Stmt{
		ast.Local{Name: "found"},
		ast.For{Var: "c", List: "obj", Do: []ast.Stmt{
			ast.If{Cond: ast.Unary{Op: "not", X: ast.Name("c")}, Then: []ast.Stmt{ast.Assign{Name: "found", Value: ast.Name("c")}, ast.Break{}}},
		}},
		ast.Either{Name: "found", Of: []ast.Commented{{Comment: "one", Value: call("1")}, {Comment: "two\nlines", Value: call("2")}}},
		ast.Either{Of: []ast.Commented{{Comment: "last", Value: ast.Binary{Op: "or", X: call("3"), Y: ast.Nil{}}}, {Comment: "else", Value: ast.Table{}}}},
	})
	want := `local found
for i = 1, #obj do
  local c = obj[i]
  if not c then
    found = c
    break
  end
end
found =
  -- one
  f("1")
  -- two
  -- lines
  or f("2")
return
  -- last
  (f("3") or nil)
  -- else
  or {}
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if err := vm.Load(got); err != nil {
		t.Error(err)
	}
}

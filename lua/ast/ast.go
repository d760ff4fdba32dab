package ast

// Expr is an expression.
type Expr interface{ expr() }

// Name is a variable.
type Name string

// String is a text, of any bytes.
type String string

// Number is a finite number.
type Number float64

// Bool is true or false.
type Bool bool

// Nil is nil.
type Nil struct{}

// Index is X[Key]; a Key that is a String and a name is printed as X.Key.
type Index struct{ X, Key Expr }

// Call is Func(Args...).
type Call struct {
	Func Expr
	Args []Expr
}

// One is (X): of a call that returns no value it makes nil.
type One struct{ X Expr }

// Unary is Op X, where Op is "not", "-" or "#".
type Unary struct {
	Op string
	X  Expr
}

// Binary is X Op Y, where Op is "or", "and", a comparison, "..", "+", "-", "*",
// "/" or "%".
type Binary struct {
	Op   string
	X, Y Expr
}

// Function is function(Params...) return Result end.
type Function struct {
	Params []string
	Result Expr
}

// Table is a constructor: the list Items, then Fields in their order.
type Table struct {
	Items  []Expr
	Fields []Field
}

// Field is an entry of a Table.
type Field struct {
	Key   string
	Value Expr
}

func (Name) expr()     {}
func (String) expr()   {}
func (Number) expr()   {}
func (Bool) expr()     {}
func (Nil) expr()      {}
func (Index) expr()    {}
func (Call) expr()     {}
func (One) expr()      {}
func (Unary) expr()    {}
func (Binary) expr()   {}
func (Function) expr() {}
func (Table) expr()    {}

// Stmt is a statement.
type Stmt interface{ stmt() }

// Local declares one variable, without a value where Value is nil.
type Local struct {
	Name  string
	Value Expr
}

// Assign is Name = Value.
type Assign struct {
	Name  string
	Value Expr
}

// If is if Cond then Then end.
type If struct {
	Cond Expr
	Then []Stmt
}

// Return ends a block.
type Return struct{ Value Expr }

// For is Do for each Var of a List, which is a local, from its first entry to its last:
//
//	for i = 1, #List do
//	  local Var = List[i]
//	  Do
//	end
type For struct {
	Var, List string
	Do        []Stmt
}

// Break ends a For. It is the last statement of its block.
type Break struct{}

// Either is the first of some values that is neither nil nor false, each with a comment
// above it: Name = Of[1] or Of[2] ..., or return Of[1] or Of[2] ... where Name is empty.
type Either struct {
	Name string
	Of   []Commented
}

// Commented is a value with a comment of one or several lines.
type Commented struct {
	Comment string
	Value   Expr
}

// Comment is one line or several, each of which becomes a comment.
type Comment string

// Blank is an empty line.
type Blank struct{}

// Verbatim is Lua text that is printed as it is. It must be whole statements, and
// ours: nothing of a spec may be in it.
type Verbatim string

func (Local) stmt()    {}
func (Assign) stmt()   {}
func (If) stmt()       {}
func (Return) stmt()   {}
func (For) stmt()      {}
func (Break) stmt()    {}
func (Either) stmt()   {}
func (Comment) stmt()  {}
func (Blank) stmt()    {}
func (Verbatim) stmt() {}

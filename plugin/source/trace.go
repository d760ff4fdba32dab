package source

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"unsafe"
)

// Trace is what a View was asked and what it answered: contents, listings, link
// targets, what exists and what does not. A render that depends on nothing but
// the answers would, given another tree that answers the same, go the same way
// and ask nothing else. So where [Trace.Same] holds, its result holds too.
//
// It keeps names and digests, no contents and no tree. The zero Trace is the
// same as nothing.
type Trace struct {
	facts []fact
	whole bool // every answer is among the facts
}

// fact is a question and the SHA-256 of its answer.
type fact struct {
	question
	sum [sha256.Size]byte
}

// question is one call of a View, by a valid name.
type question struct {
	op   op
	name string
}

// op is a method of View, in the order in which a Trace is compared: what costs
// little first.
type op uint8

const (
	opStat op = iota
	opLstat
	opLink
	opResolve
	opList
	opOpen
	opRead
)

// String names the operation as in a *fs.PathError.
func (o op) String() string {
	return [...]string{"stat", "lstat", "readlink", "resolve", "readdir", "open", "open"}[o]
}

// answer is what a View answered: an error, or what the question asks for. It is
// not changed once given.
type answer struct {
	err     error
	info    *info         // opStat, opLstat, opOpen
	content *content      // opRead, opOpen for a file
	entries []fs.DirEntry // opList
	path    string        // opResolve: where it leads to; opLink: the target
}

// maxAsked bounds the questions that a View remembers. Names that exist are
// bounded by limits.files, but a name that does not can be asked for in endless
// variations.
const maxAsked = 1 << 18

// ask answers a question, the second time as the first time.
func (v *View) ask(op op, name string) *answer {
	// What no tree answers differently is not worth a fact.
	if !fs.ValidPath(name) {
		return &answer{err: pathError(op.String(), name, fs.ErrInvalid)}
	}
	if len(name) > maxPath {
		return &answer{err: pathError(op.String(), name[:80]+"...", errors.New("name is longer than 4096 bytes"))}
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	q := question{op, name}
	if a, ok := v.asked[q]; ok {
		return a
	}
	a := v.answer(q)
	if len(v.asked) >= maxAsked {
		v.unsure = true
		return a
	}
	v.asked[q] = a
	v.unsure = v.unsure || !a.settled()
	return a
}

// settled reports whether the answer follows from the tree alone. Other errors
// can come from a disk that fails, or from a limit, at which it matters what was
// asked before; or they are rare, and not worth a proof.
func (a *answer) settled() bool {
	kind := (*kindError)(nil)
	return a.err == nil || errors.Is(a.err, fs.ErrNotExist) || errors.As(a.err, &kind)
}

// sum is the digest of an answer of op.
func (a *answer) sum(op op) [sha256.Size]byte {
	var buf [256]byte
	text := buf[:0]
	// Each part with its length, so that no two answers have one encoding.
	number := func(n int64) { text = binary.BigEndian.AppendUint64(text, uint64(n)) } //nolint:gosec // only told apart
	part := func(s string) { number(int64(len(s))); text = append(text, s...) }
	switch {
	case a.err != nil:
		// The text too: it says which link of a chain leads nowhere.
		part("error")
		part(a.err.Error())
		return sha256.Sum256(text)
	case a.info != nil:
		number(int64(a.info.mode))
		number(a.info.size)
	}
	if a.content != nil {
		part(a.content.sum())
	}
	for _, e := range a.entries {
		part(e.Name())
		number(int64(e.Type()))
	}
	if op == opLink || op == opResolve {
		part(a.path)
	}
	return sha256.Sum256(text)
}

// Trace returns what was asked so far. The digests of contents are made now,
// unless [View.Files] has made them already.
func (v *View) Trace() Trace {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.unsure {
		return Trace{}
	}
	facts := make([]fact, 0, len(v.asked))
	for q, a := range v.asked {
		sum := a.sum(q.op)
		// The name may be cut from something large, which is not to be kept.
		q.name = strings.Clone(q.name)
		facts = append(facts, fact{q, sum})
	}
	slices.SortFunc(facts, func(a, b fact) int {
		return cmp.Or(cmp.Compare(a.op, b.op), cmp.Compare(a.name, b.name))
	})
	return Trace{facts: facts, whole: true}
}

// Same reports whether a View of tree would answer everything the same. It asks
// one, and stops at the first difference. It is false for a trace with an answer
// that was an error of another kind than that something is absent or of another
// kind than asked for, such as a limit or a failing disk.
func (t Trace) Same(tree *Tree) bool {
	if !t.whole {
		return false
	}
	v := tree.View()
	for _, f := range t.facts {
		if v.ask(f.op, f.name).sum(f.op) != f.sum {
			return false
		}
	}
	return true
}

// Bytes returns about how much memory the trace holds.
func (t Trace) Bytes() int64 {
	size := int64(unsafe.Sizeof(t)) + int64(cap(t.facts))*int64(unsafe.Sizeof(fact{}))
	for i := range t.facts {
		size += int64(len(t.facts[i].name))
	}
	return size
}

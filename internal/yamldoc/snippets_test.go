package yamldoc

// fastSnippets are documents that the fast path must take: each line of the
// package comment about the subset, and then the shapes that templates print.
var fastSnippets = []string{
	"", "\n", "   ", "# only a comment", "  # a\n\n# b\n", "---\n", "--- # c\na: b\n", "# c\n---\na: b\n",
	"a: b", "a: b\n", "a:   b   \n", "a:\n", "a:", "a: # c\n", "a: b # c\n", "a: b#c\n", "  a: b\n  c: d\n",
	"a:\n  b: 1\n  c:\n    d: 2\ne: 3\n", "a:\n    b: 1\nc:\n   d: 1\n",
	"a:\n- 1\n- 2\nb: c\n", "a:\n  - 1\n  - 2\nb: c\n", "- a\n- b\n", "- - a\n  - b\n- - - c\n", "-\n- a\n-\n",
	"- a: b\n  c: d\n- a: e\n", "-   a: b\n    c: d\n", "-\n  a: b\n", "- a:\n    b: c\n", "- a:\n  - b\n  c: d\n",
	"a:\n-\n-\nb:\n", "a:\n- b: c\n  d: e\n- f: g\nh: i\n", "a:\n-\n  - b\n- c\n", "- a:\n- b:\n",
	"\"a b\": c\n'd: e': f\n\"\\u0041\": g\n", "a.b/c-d: e\n", "a b: c\n", "http://a:80/b: c\n",
	"a: 'it''s'\nb: \"x\\ty\\n\\\\ \\\"q\\\" \\x41 \\u00e9 \\U0001F600\"\n", "a: \"\\0\\a\\b\\t\\n\\v\\f\\r\\e\\ \\'\\xAf\"\n", "a: \"x # y\" # c\n", "a: '# y'\n",
	"a: one\n  two\n\n  three\n\n\n  four\nb: c\n", "a: one\n two\n", "- one\n  two\n- three\n", "a:\n- one\n  two\nb: c\n",
	"a: one\n  - two\n  # end\nb: c\n", "a:\n  one\n  two\nb: c\n", "a: one # c\nb: c\n", "a: one\n\n\nb: c\n", "a: 1\n  2\n",
	"a: \"one\n  two\n\n  three \\\n  four\\\n\n  five\"\n", "a: 'one\n  two\n\n  three'\n", "a: \"one \n \n two\"\n", "a: \"\n  one\"\n", "a: 'b\nc'\n",
	"a: \"tab\there\"\n", "a: 'tab\there'\n", "a: |\n  tab\there\n", "# tab\there\na: b # tab\there\n",
	"a: |\n  x\n  y\n", "a: |-\n  x\n\n  y\n\nb: c\n", "a: |+\n  x\n\n\nb: c\n", "a: |\n  x", "a: |\n  x\n   y\n  z\n", "a: |\n\n\n  x\n", "a: |\n \n  x\n",
	"a: |2\n   x\n  y\n", "a: |2-\n   x\n", "a: |-2\n   x\n", "a: | # c\n  x\n", "a: |\n  # not a comment\n# a comment\nb: c\n", "a: |\n  ---\n  ...\n",
	"- |\n  x\n- |-\n  y\n", "- |\n x\n", "a:\n- |\n  x\n- y\n", "- a: |\n    x\n  b: y\n", "a: |\n  x\n  \n    \nb: c\n", "a: |\n  x\n     ",
	"a: >\n  x\n  y\n", "a: >-\n  x\n\n  y\n", "a: >+\n  x\n\n", "a: >\n  x\n   y\n   z\n  w\n", "a: >\n\n  x\n\n\n  y\n\n   z\n\n  w\n", "a: >1\n  x\n y\n",
	"a: {}\nb: []\n", "a: [b, c d, 'e', \"f\", 1, true, null, ~]\n", "a: {b: c, \"d\": e, 'f': [1, {g: h}]}\n", "a: {\"b\":c}\n", "a: [\n  b,\n  c\n]\nd: e\n", "a: [b,]\n", "a: [ b , c ] # c\n",
	"[a, {b: c}]\n", "{\"a\": 1,\n \"b\": [true, 1.5]}\n", "- [a]\n- {b: c}\n", "a: [-1, -x, a:b, http://x:80]\n", "a: {b: [], c: {}}\n",
	"a: true\nb: yes\nc: No\nd: ON\ne: off\nf: y\ng: N\n", "a: ~\nb: null\nc: Null\nd: nULL\ne: yEs\n", "a: 0777\nb: 0o17\nc: 0x1F\nd: 0b101\ne: 1_000\nf: 0_7\n",
	"a: 1e3\nb: .5\nc: 1.0\nd: 1.5\ne: -0.0\nf: 1e20\ng: 1e21\nh: 1e-7\ni: 12345678901234567890\nj: 9223372036854775808\nk: 1e400\n", "a: 1.2345678901234567e18\nb: 9007199254740993.0\nc: 1E18\nd: 9223372036854775807.0\n",
	"a: 1:20\nb: 190:20:30\nc: 2001-12-14\nd: 2001-12-14t21:59:43.10-05:00\ne: 2001-12-14 21:59:43\n", "a: +1\nb: -1\nc: +x\nd: -x\ne: .x\nf: ..\ng: 1.2.3\nh: 10Gi\ni: 1-2\nj: 0x\nk: 08\nl: 1_\nm: +\np: .\no: .e1\n",
	"a: :80\nb: a:b\nc: a,b\nd: a[0]\ne: a{b}\nf: x?\ng: -a\nh: --a=b\ni: a - b\nj: =\nk: <<\nl: a]\n", "a: it's\nb: say \"x\"\nc: \\n\n",
	"\u00e9: \u4e2d\u6587\na: \U0001F600 x\nb: \"\u00a0\"\n", "a: 1\na: 2\n", "a: {b: 1}\na: {c: 2}\n", "a : b\nc  : d\n", "-a: b\n--c: d\n", "a:\n  -Xmx: b\n", "a: 0b1c9d28-33bd\nb: -0b1-x\n0b2: c\n", "yes-key: 1\nNo2: 2\n1a: 3\n+x: 4\n.x: 5\n", "a:\n  b:\n\n# c\n\n  c: d\n",
	"a:\n  # c\n  - b\n  # d\n  - c\n# e\nd: e\n",
}

// librarySnippets are documents that the fast path must leave to the library, or
// that are errors, and those where either would do.
var librarySnippets = []string{
	"a: &x 1\nb: *x\n", "a: &x {b: c}\nd:\n  <<: *x\n  e: f\n", "<<: {a: b}\nc: d\n", "a: !!str 1\nb: !!float 1\nc: !!binary aGk=\nd: !x y\n", "a: !!binary /w==\n", "a: !!int x\n", "a: *x\n", "&a [*a]\n", "a: &a {b: *a}\n",
	"y: 1\nn: 2\n", "true: 1\n", "1: a\n", "1.5: a\n", "null: a\n", "~: a\n", ": a\n", "'': a\n", "? a\n: b\n", "? - a\n: b\n", "[a]: b\n", "{a: b}: c\n", "a: {b}\n", "a: [b: c]\n", "a: [b,,c]\n", "a: {b: c, d}\n", "a: {b: }\n",
	"a: .inf\n", "a: -.INF\n", "a: .NaN\n", ".nan: a\n", "-.inf: a\n", ".iNf: a\n", "a: 0b-1\n", "a: -0b1\n", "a: 0b+1\n", "a: -0b-1\n", "a: 0b\n", "a: 0b1\n", "a: 0B1\n", "0b-1: a\n", "1e1: a\n", "0x10: a\n", "2001-01-01: a\n", "1_0: a\n", "12345678901234567890: a\n",
	"a:\tb\n", "\ta: b\n", "a: b\n\tc: d\n", "a: b\t\n", "a: b\tc\n", "a:\n\t- b\n", "- \ta\n", "a: |\n\tb\n", "a: |\n  b\n\tc\n", "a: |\n \tb\n", "\t\na: b\n", "a: [\tb]\n", "a: |\t\n  b\n", "a\t: b\n",
	"a: b\r\nc: d\r\n", "a: b\rc: d\r", "a: |\r\n  b\r\n", "\ufeffa: b\n", "a: b\n\ufeffc: d\n", "a: \"\ufeff\"\n", "a: \u0085b\n", "a: b\u2028c: d\n", "a: |\n  b\u2029  c\n", "a: \x00\n", "a: \x01\n", "a: \x7f\n", "a: \u0080\n", "a: \ufffe\n", "a: \xff\n", "a: \xc3\n", "a: \xed\xa0\x80\n",
	"a: b: c\n", "a: b:\n", "a: - b\n", "a: 'b' c\n", "a: \"b\" : c\n", "a: \"b\": c\n", "a: [b] c\n", "a: [b]: c\n", "a: [b\n", "a: {b: c\n", "a: 'b\n", "a: \"b\n", "a: \"\\q\"\n", "a: \"\\ud800\"\n", "a: \"\\/\"\n", "a: \"\\u12\"\n", "a: \"\\UFFFFFFFF\"\n", "a: ]\n", "a: @b\n", "a: `b\n", "a: %b\n", "a: ,b\n", "a: ?b\n", "a: ? b\n", "a: #\n", "a: 'b'#c\n", "a: [b]#c\n", "a: |#c\n  b\n",
	"a:\n  b: c\n d: e\n", " a: b\nc: d\n", "a: b\n  c: d\n", "a: b\n c\n", "a: b # c\n  d\n", "a: b\n# c\n  d\n", "a: 'b'\n  c\n", "a: {}\n  b: c\n", "- a\nb: c\n", "a: b\n- c\n", "a:\n- b\n c: d\n", "- a: b\n c: d\n", "- a\n - b\n", "a:\n    - b\n  - c\n", "a:\n  - b\n    - c\n", "---a: b\n", "-1: b\n", "- : b\n", "a: b\n- : c\n", "--- a: b\n", "---a: b\n",
	"a: |\nb: c\n", "a: |", "a: |\n", "a: |+\n\n\nb: c\n", "a: |\n    \n  b\n", "a: |\n  b\n c\n", "a: |0\n  b\n", "a: |9\n  b\n", "a: |--\n  b\n", "a: |x\n  b\n", "a: |22\n  b\n", "|\n  a\n", "|\na\n", ">2\n   a\n", "a: >\n \n", "a: |1\n b\n  c\nd: e\n", "- |1\n  a\n",
	"a\n", "'a'\n", "a\nb\n", "a b: c\nd\n", "1\n", "null\n", "a: b\n---\nc: d\n", "a: b\n...\nc: d\n", "...\n", "---\n---\na: b\n", "%YAML 1.1\n---\na: b\n", "%YAML 1.2\n---\na: b\n", "%TAG ! x\n---\na: b\n", "a: 'b\n--- c'\n", "a: \"b\n... c\"\n", "a: 'b\n-c'\n", "a: [\n- b]\n", "a: [\n---\n]\n", "a: [b # c\n]\n", "a: [#c\n]\n", "a: [b\n c]\n", "a: [a b\n, c]\n", "[a\n%]\n",
	"a:b\n", "a :b\n", "a:  \n  - b\n -c\n", "a: <<\n<<: b\n", "a: {<<: b}\n", "a: {1: b, true: c, : d}\n", "a: {b:c}\n", "a: {b:, c: d}\n", "a: {? b : c}\n", "a: [?b, c?]\n", "a: [-]\n", "a: [- b]\n", "a: [:b]\n", "a: [b:]\n", "a: ['b':c]\n", "a: {'b':c, \"d\" :e}\n", "a: {b\n: c}\n", "a: [|, >]\n", "a: [*b]\n",
	"1: a\n'1': b\n", "1: a\n1.0: b\n'1': c\ntrue: d\n'true': e\n",
}

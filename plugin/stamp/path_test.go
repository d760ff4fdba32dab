package stamp

import (
	"testing"
)

func TestPointer(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		path Path
		want string
	}{
		{Path{"spec", "env", 0, "value"}, "/spec/env/0/value"},
		{Path{"metadata", "annotations", "a.io/b~c"}, "/metadata/annotations/a.io~1b~0c"},
		{Path{"a", ""}, "/a/"},
		{Path{"~1"}, "/~01"},
		{nil, ""},
		{Path{1.5}, "/1.5"},
	} {
		if got := test.path.Pointer(); got != test.want {
			t.Errorf("%v: got %q, want %q", test.path, got, test.want)
		}
	}
}

func TestParsePathErrors(t *testing.T) {
	t.Parallel()
	for pointer, want := range map[string]string{
		"":      `the JSON pointer "" does not start with a slash`,
		"spec":  `the JSON pointer "spec" does not start with a slash`,
		"/a~":   `the JSON pointer "/a~" has a ~ that neither 0 nor 1 follows`,
		"/a~2b": `the JSON pointer "/a~2b" has a ~ that neither 0 nor 1 follows`,
	} {
		if path, err := ParsePath(pointer); err == nil || err.Error() != want {
			t.Errorf("%q: got %v, %v\nwant %s", pointer, path, err, want)
		}
	}
}

func FuzzParsePath(f *testing.F) {
	for _, seed := range []string{"/a/0/b", "/", "//", "/~0~1", "/~01", "a", "/a~"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, pointer string) {
		path, err := ParsePath(pointer)
		if err != nil {
			return
		}
		if got := path.Pointer(); got != pointer {
			t.Errorf("%q became %q", pointer, got)
		}
		if err := (&pathTree{}).add(path); err != nil {
			t.Errorf("%q: %v", pointer, err)
		}
	})
}

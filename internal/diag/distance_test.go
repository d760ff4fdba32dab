package diag

import "testing"

func TestDistance(t *testing.T) {
	t.Parallel()
	for pair, want := range map[[2]string]int{
		{"", ""}: 0, {"a", ""}: 1, {"", "abc"}: 3, {"values", "values"}: 0, {"valeus", "values"}: 2,
		{"value-file", "value-files"}: 1, {"kitten", "sitting"}: 3, {"abc", "xyz"}: 3,
	} {
		if got := Distance(pair[0], pair[1]); got != want {
			t.Errorf("%q and %q: got %d, want %d", pair[0], pair[1], got, want)
		}
		if got := Distance(pair[1], pair[0]); got != want {
			t.Errorf("%q and %q: got %d, want %d", pair[1], pair[0], got, want)
		}
	}
}

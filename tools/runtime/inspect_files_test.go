package runtime_test

import (
	"slices"
	"strings"
	"testing"

	"hob/tools/runtime"
)

func TestFiles(t *testing.T) {
	for command, want := range map[string]string{
		"sh x.sh":                         "/w/x.sh",
		"./x.sh a":                        "/w/x.sh",
		"sh '/a b'":                       "/a b",
		"sh ~/x.sh":                       "/h/x.sh",
		"sh ~+/x.sh":                      "/w/x.sh", // T14
		"cd sub; sh ~+/x.sh":              "/w/sub/x.sh",
		"sh <x.sh >y":                     "/w/x.sh",
		"cat a/../x.sh":                   "/w/x.sh",
		"cd sub; sh x.sh":                 "/w/sub/x.sh",
		"cd sub && sh x.sh || sh z":       "/w/x.sh",
		"bash -c 'sh x.sh'":               "/w/x.sh",
		`bash -c "bash -c 'sh x.sh'"`:     "/w/x.sh",
		"make --file=x.sh":                "/w/x.sh",
		"D=/d; sh $D/x.sh":                "/d/x.sh",
		"for f in x.sh; do sh $f; done":   "/w/x.sh",
		"echo $(sh x.sh)":                 "/w/x.sh",
		"sh {x,y}.sh":                     "/w/x.sh",
		"sh x.sh 'not ended":              "/w/x.sh",
		"f() { sh x.sh; }; f":             "/w/x.sh",
		"X=x.sh; export Y=1; sh \"$X\"":   "/w/x.sh",
		strings.Repeat("a ", 900) + "x":   "/w/x",
		"printf '%s' x.sh | xargs -n1 sh": "/w/x.sh",
	} {
		if got := runtime.FileNames(command, "/h", "/w", nil, nil).Files; !slices.Contains(got, want) {
			t.Errorf("%.40s: %q lacks %s", command, got, want)
		}
	}
	if got := runtime.FileNames("sh $UNSET/x $(cat y)/z ~-/x ~root/x", "/h", "/w", nil, nil); !got.Unknown || slices.ContainsFunc(got.Files, func(p string) bool { return strings.HasSuffix(p, "/x") || strings.HasSuffix(p, "/z") }) {
		t.Errorf("what only the shell knows: %q", got.Files)
	}
	if got := runtime.FileNames(strings.Repeat("w ", 50_000)+"x", "/h", "/w", nil, nil); !got.Cut || slices.Contains(got.Files, "/w/x") {
		t.Error("no end")
	}
}

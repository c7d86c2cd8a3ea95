package patch_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"hob/tools/edit/patch"
)

// A patch comes apart into sections and hunks, each with its line.
func TestParse(t *testing.T) {
	got, err := patch.Parse("\n*** Begin Patch\n*** Update File: a b.txt\n*** Move to: c\n@@ one\n@@ two\n x\n-y\n@@\n+z\n*** End of File\n*** Delete File: d\n*** End Patch")
	if err != nil || len(got) != 2 {
		t.Fatalf("%+v %v", got, err)
	}
	u := got[0]
	if u.Kind != patch.Update || u.Path != "a b.txt" || u.Move != "c" || u.Line != 3 || len(u.Hunks) != 2 || got[1].Kind != patch.Delete || got[1].Line != 12 {
		t.Fatalf("%+v", got)
	}
	first, second := u.Hunks[0], u.Hunks[1]
	if !slices.Equal(first.Context, []string{"one", "two"}) || first.Line != 5 || first.End || !slices.Equal(first.Lines, []patch.Line{{Op: ' ', Text: "x"}, {Op: '-', Text: "y"}}) {
		t.Errorf("%+v", first)
	}
	if second.Context != nil || second.Line != 9 || !second.End || len(second.Lines) != 1 {
		t.Errorf("%+v", second)
	}
}

func TestNear(t *testing.T) {
	lines := []string{"func main() {", "\tfmt.Println(\"hello\")", "}", "func mean() {", "x"}
	for want, near := range map[string]string{
		"func main( ) {":         "     1\tfunc main() {\n     4\tfunc mean() {",
		"fmt.Println(\"hallo\")": "     2\t\tfmt.Println(\"hello\")",
		"nothing like it":        "",
		"":                       "",
		"}":                      "",
	} {
		if got := patch.Near(lines, []string{"", want}); got != near {
			t.Errorf("%q: %q, want %q", want, got, near)
		}
	}
}

// Whatever is given: it is refused with an error that says where, or gives a text whose lines are the file's or the patch's.
func FuzzApply(f *testing.F) {
	for _, body := range []string{
		"@@\n-a\n+b", "@@ x\n@@ y\n a\n+b\n*** End of File", " a\n\n-b", "@@\n+x\n@@\n-a\n+b\n\n", "@@\n-\n+\n ", "@@\n a\n \n+\n*** End of File",
	} {
		f.Add("a\nb\n\nx\ny\r\na", "*** Begin Patch\n*** Update File: f\n"+body+"\n*** End Patch")
	}
	f.Add("a\n", "--- a/f\n+++ b/f\n@@ -1 +1,2 @@\n-a\n+b\n+c\n")
	f.Add("a\n", "diff --git a/f b/g\nrename from f\nrename to g\n@@ -1,0 +2 @@\n+c\n\\ No newline at end of file")
	f.Fuzz(func(t *testing.T, file, text string) {
		sections, err := patch.Parse(text)
		for _, s := range sections {
			if s.Kind != patch.Update || err != nil {
				continue
			}
			out, fault := s.Apply(file)
			if err = fault; err != nil {
				break
			}
			for _, line := range strings.Split(out, "\n") {
				line = strings.TrimSuffix(line, "\r")
				if !strings.Contains(file, line) && !strings.Contains(text, line) {
					t.Fatalf("%q is neither of the file nor of the patch", line)
				}
			}
		}
		if at, ok := errors.AsType[*patch.Error](err); err != nil && (!ok || at.Why == "") {
			t.Fatalf("%v", err)
		}
	})
}

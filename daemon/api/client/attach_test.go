package client_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/event"
)

// file writes a file of a size for a test.
func file(t *testing.T, name string, size int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(strings.Repeat("x", size)), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAttachmentsArrive(t *testing.T) {
	dir, w := home(t, false)
	files, err := client.Attach(file(t, "a b.txt", 3), file(t, "c.bin", 1))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := find(t, dir).Post(t.Context(), client.Message{Attachments: files}); err != nil {
		t.Fatal(err)
	}
	want := []api.Attachment{{Name: "a b.txt", Data: []byte("xxx")}, {Name: "c.bin", Data: []byte("x")}}
	if !reflect.DeepEqual(w.files, want) {
		t.Errorf("%+v, want %+v", w.files, want)
	}
}

func TestAttachRefuses(t *testing.T) {
	full, small := file(t, "full", client.MaxAttachment), file(t, "small", 4<<20)
	closed := file(t, "closed", 1)
	if err := os.Chmod(closed, 0); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		paths []string
		kind  event.FaultKind // "": it can be sent
		says  string
	}{
		"20 MB":             {[]string{full, full, small}, "", ""},
		"more than 20 MB":   {[]string{full, full, small, file(t, "y", 1)}, event.TooLarge, "20 MB together"},
		"more than 8 MB":    {[]string{file(t, "huge", client.MaxAttachment+1)}, event.TooLarge, "over 8 MB"},
		"ten":               {times(file(t, "y", 1), 10), "", ""},
		"eleven":            {times(file(t, "y", 1), 11), event.TooLarge, "at most 10"},
		"an empty one":      {[]string{file(t, "e", 0)}, event.Invalid, "is empty"},
		"a folder":          {[]string{t.TempDir()}, event.Invalid, "is a folder"},
		"a device":          {[]string{os.DevNull}, event.Invalid, "not a regular file"},
		"one that is not":   {[]string{filepath.Join(t.TempDir(), "none")}, event.Missing, "there is no file"},
		"one below a file":  {[]string{filepath.Join(full, "x")}, event.Clash, "cannot be read"},
		"one that is shut":  {[]string{closed}, event.Clash, "you may not read"},
		"a name without it": {[]string{""}, event.Missing, "there is no file"},
	} {
		if name == "one that is shut" && os.Getuid() == 0 {
			continue // root may read anything
		}
		list, err := client.Attach(c.paths...)
		f, _ := event.AsFault(err)
		if c.kind == "" {
			if err != nil || len(list) != len(c.paths) {
				t.Errorf("%s: %d attachments, %v", name, len(list), err)
			}
			continue
		}
		if f == nil || f.Kind != c.kind || !strings.Contains(f.Text, c.says) || f.Hint == "" || list != nil {
			t.Errorf("%s: %v, want %s: %s", name, fmt.Sprintf("%+v", f), c.kind, c.says)
		}
	}
}

func times(path string, n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = path
	}
	return list
}

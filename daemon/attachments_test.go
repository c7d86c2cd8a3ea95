package daemon_test

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"hob/channels/cli"
	"hob/daemon/api/client"
	"hob/daemon/event"
)

// attach is a message with files: their names, and what they hold.
func attach(id, text string, files ...string) client.Message {
	m := client.Message{ID: id, Text: text}
	for pair := range slices.Chunk(files, 2) {
		m.Attachments = append(m.Attachments, client.Attachment{Name: pair[0], Data: []byte(pair[1])})
	}
	return m
}

// tree lists the files and folders below a folder, each with what it holds.
func tree(t *testing.T, dir string) (list []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		rel, relErr := filepath.Rel(dir, path)
		if err = errors.Join(err, relErr); err != nil || rel == "." {
			return err
		}
		if e.IsDir() {
			list = append(list, rel+"/")
			return nil
		}
		data, err := os.ReadFile(path) // #nosec G122 -- the test's own folder
		list = append(list, rel+"="+string(data))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func copies(t *testing.T, home string) string {
	t.Helper()
	return strings.Join(tree(t, filepath.Join(home, "workspace", "attachments")), " ")
}

// shelved is what the artifacts hold, in order.
func shelved(t *testing.T, home string) string {
	t.Helper()
	var held []string
	for _, f := range tree(t, filepath.Join(home, "state", "artifacts")) {
		_, data, _ := strings.Cut(f, "=")
		held = append(held, data)
	}
	slices.Sort(held)
	return strings.Join(held, " ")
}

// stopped opens the database of a daemon that has ended.
func stopped(t *testing.T, home string, use func(*sql.DB)) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(home, "state", "hob.db"))
	if err != nil {
		t.Fatal(err)
	}
	use(db)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// rows reads a query's only column.
func rows(t *testing.T, home, query string) (list []string) {
	t.Helper()
	stopped(t, home, func(db *sql.DB) {
		rs, err := db.QueryContext(t.Context(), query)
		if err != nil {
			t.Fatal(err)
		}
		defer rs.Close() //nolint:errcheck // read to its end
		for rs.Next() {
			var s string
			if err := rs.Scan(&s); err != nil {
				t.Fatal(err)
			}
			list = append(list, s)
		}
		if err := rs.Err(); err != nil {
			t.Fatal(err)
		}
	})
	return list
}

func refused(t *testing.T, err error, kind event.FaultKind, says ...string) {
	t.Helper()
	text, hint, got := client.Explain(err)
	if err == nil || got != string(kind) || hint == "" {
		t.Errorf("%q / %q of kind %q, want %s with a hint", text, hint, got, kind)
	}
	for _, s := range says {
		if !strings.Contains(text, s) {
			t.Errorf("%q does not say %q", text, s)
		}
	}
}

// What is attached lies where tools can read it as soon as the message is taken, and its artifact keeps trust and source.
func TestAttachmentsAreKept(t *testing.T) {
	home := t.TempDir()
	r := start(t, home)
	receipt, err := r.client.Post(t.Context(), attach("m1", "read attachments/1/../1/note-2.txt", "../x/note.txt", "milk", "note.txt", "bread"))
	if err != nil {
		t.Fatal(err)
	}
	text := r.wait(receipt.Event, func(e *event.Event, turn int64) bool { return e.Type == "turn.finished" && e.Turn == turn }, receipt.Inbox)
	if receipt.Inbox != 1 || text != "bread" {
		t.Errorf("row %d is answered with %q", receipt.Inbox, text)
	}
	again, err := r.client.Post(t.Context(), attach("m1", "x", "note.txt", "milk"))
	if err != nil || again.Inbox != receipt.Inbox || again.Event != receipt.Event {
		t.Errorf("again %+v, %v, first %+v", again, err, receipt)
	}
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	if got := copies(t, home); got != "1/ 1/note-2.txt=bread 1/note.txt=milk" {
		t.Errorf("copies %s", got)
	}
	if got := shelved(t, home); got != "bread milk" {
		t.Errorf("artifacts %s", got)
	}
	for _, path := range []string{"workspace/attachments/1", "workspace/attachments/1/note.txt"} {
		if info, err := os.Stat(filepath.Join(home, path)); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
	// SHA-256 of "bread" and "milk", as sha256sum has it.
	want := "text/plain owner cli 5 note-2.txt 985604c2 text/plain owner cli 4 note.txt 8825e765"
	got := rows(t, home, "SELECT mime || ' ' || trust || ' ' || source || ' ' || size || ' ' || name || ' ' || substr(sha256, 1, 8) FROM artifacts ORDER BY name")
	if strings.Join(got, " ") != want {
		t.Errorf("rows %q, want %s", got, want)
	}
	parts := rows(t, home, "SELECT p.value ->> '$.name' FROM inbox i, json_each(i.parts) p JOIN artifacts a ON a.id = p.value ->> '$.artifact' ORDER BY 1")
	if strings.Join(parts, " ") != "attachments/1/note-2.txt attachments/1/note.txt" {
		t.Errorf("the model is told of %q", parts)
	}
}

// Many posts of one message at once are one message, and one copy.
func TestAttachmentsOfManyPosts(t *testing.T) {
	home := t.TempDir()
	r := start(t, home)
	var wg sync.WaitGroup
	got := make([]event.Receipt, 8)
	for i := range got {
		wg.Go(func() {
			var err error
			if got[i], err = r.client.Post(t.Context(), attach("same", "say: hi", "x", "held")); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	for _, g := range got {
		if g.Inbox != got[0].Inbox || g.Event != got[0].Event || g.Inbox == 0 {
			t.Errorf("receipts %+v", got)
			break
		}
	}
	if have, want := copies(t, home), fmt.Sprintf("%d/ %[1]d/x=held", got[0].Inbox); have != want || shelved(t, home) != "held" {
		t.Errorf("copies %s, want %s; artifacts %s", have, want, shelved(t, home))
	}
}

// What cannot be stored is not accepted, says why, and leaves nothing.
func TestAttachmentsThatAreRefused(t *testing.T) {
	home := t.TempDir()
	r := start(t, home)
	post := func(m client.Message) error {
		_, err := r.client.Post(t.Context(), m)
		return err
	}
	refused(t, post(attach("", "x", "a", "")), event.Invalid, "attachment 1 (a) is empty")
	refused(t, post(attach("", "x", "a", strings.Repeat("x", cli.MaxFile+1))), event.TooLarge, "over 8 MB")
	big := strings.Repeat("x", cli.MaxFile)
	refused(t, post(attach("", "x", "a", big, "b", big, "c", big[:4<<20+1])), event.TooLarge, "over 20 MB")
	text, _, kind := client.Explain(post(attach("", "/status", "a", "x")))
	if kind != string(event.Invalid) || !strings.Contains(text, "a command takes no attachments") {
		t.Errorf("a command: %q, %s", text, kind)
	}
	attachments := filepath.Join(home, "workspace", "attachments")
	if err := os.WriteFile(attachments, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	refused(t, post(attach("", "x", "a", "x")), event.Unavailable, "could not be stored")
	outside := t.TempDir()
	if err := errors.Join(os.Remove(attachments), os.Symlink(outside, attachments)); err != nil {
		t.Fatal(err)
	}
	refused(t, post(attach("", "x", "a", "x")), event.Unavailable, "could not be stored")
	if err := os.Remove(attachments); err != nil {
		t.Fatal(err)
	}
	// The second half fails after the first: an artifact cannot be written.
	artifacts := filepath.Join(home, "state", "artifacts")
	if err := errors.Join(os.RemoveAll(artifacts), os.WriteFile(artifacts, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	refused(t, post(attach("again", "x", "a", "x")), event.Unavailable, "could not be stored")
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	if left := append(tree(t, outside), tree(t, attachments)...); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
	if n := rows(t, home, "SELECT count(*) FROM inbox")[0]; n != "0" {
		t.Errorf("%s messages were accepted", n)
	}
}

// S3: a link in the place of the folder would lead attachments to where they count as the owner's own.
func TestAttachmentsGoThroughNoLink(t *testing.T) {
	home := t.TempDir()
	put(t, "", home, "workspace", "inbox", "here")
	r := start(t, home)
	at := filepath.Join(home, "workspace", "attachments")
	if err := errors.Join(os.RemoveAll(at), os.Symlink("inbox", at)); err != nil {
		t.Fatal(err)
	}
	_, err := r.client.Post(t.Context(), attach("1", "look", "a.txt", "IGNORE"))
	refused(t, err, event.Unavailable, "attachments: not a folder")
	if got := tree(t, filepath.Join(home, "workspace", "inbox")); len(got) != 1 {
		t.Errorf("%v", got)
	}
}

// At the start after a crash what has no row goes, and nothing else.
func TestAttachmentsAreSwept(t *testing.T) {
	home := t.TempDir()
	r := start(t, home)
	if _, err := r.client.Post(t.Context(), attach("", "say: hi", "x", "held")); err != nil {
		t.Fatal(err)
	}
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	artifacts, folder := filepath.Join(home, "state", "artifacts"), filepath.Join(home, "workspace", "attachments")
	for _, path := range []string{artifacts + "/aLEFT", folder + "/2/half", folder + "/2/deeper/half", folder + "/notes/mine", folder + "/007/mine", folder + "/2026/mine", folder + "/3"} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte("half"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	stopped(t, home, func(db *sql.DB) { // numbers 2 and 3 were given out, and then the power failed
		_, err := db.ExecContext(t.Context(), "UPDATE sqlite_sequence SET seq = 3 WHERE name = 'inbox'")
		_, err2 := db.ExecContext(t.Context(), "UPDATE boots SET clean = 0")
		if err := errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
	})
	r = start(t, home)
	if got := copies(t, home); got != "007/ 007/mine=half 1/ 1/x=held 2026/ 2026/mine=half 3=half notes/ notes/mine=half" {
		t.Errorf("copies %s", got)
	}
	if got := shelved(t, home); got != "held" {
		t.Errorf("artifacts %s", got)
	}
	// The numbers go on behind those that were given out; a folder that stands in the way is nobody's.
	if err := os.Mkdir(filepath.Join(folder, "4"), 0o700); err != nil {
		t.Fatal(err)
	}
	if receipt, err := r.client.Post(t.Context(), attach("", "say: hi", "x", "new")); err != nil || receipt.Inbox != 5 {
		t.Errorf("the next is %+v, %v", receipt, err)
	}
}

// The client tells of the same limits that the daemon keeps.
func TestLimitsAreTheSame(t *testing.T) {
	if client.MaxAttachments != cli.MaxFiles || client.MaxAttachment != cli.MaxFile || client.MaxAttachmentBytes != cli.MaxFileBytes {
		t.Error("the client's limits of attachments are not the daemon's")
	}
}

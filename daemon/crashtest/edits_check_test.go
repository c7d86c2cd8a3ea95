//go:build linux

package crashtest_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// inboxRow is the inbox row of a chat message.
type inboxRow struct{ seq, turn, trust, state, reason string }

// rowOf finds the row of something that was said; more than one, or none that should be there, is broken.
func (b records) rowOf(u *chatMessage) (h inboxRow, n int) {
	rows := b.rows("SELECT seq, coalesce(turn, 0), trust, state, reason FROM inbox WHERE source = ? AND ext_id = ?", u.at.name, u.id)
	if len(rows) != 1 {
		return h, len(rows)
	}
	return inboxRow{rows[0][0], rows[0][1], rows[0][2], rows[0][3], rows[0][4]}, 1
}

// answers tells whether what was said was taken for the answer to a question.
func (h inboxRow) answers() bool { return h.reason == "it answered a question" }

// words are the texts of a row, one in each line.
func (b records) words(seq string) string {
	return b.rows("SELECT group_concat(p.value ->> 'text', char(10)) FROM inbox i, json_each(i.parts) p WHERE i.seq = ? AND p.value ->> 'kind' = 'text'", seq)[0][0]
}

// checkText checks the edits of a message. Until a turn has read the message, an edit replaces its text. After that, an edit is a message
// of its own, which quotes the earlier text. Each edit is there once, in order.
func (u *chatMessage) checkText(b records, h inboxRow, s *serverCounts) (broken []string) {
	rows := b.rows("SELECT ext_id, text, inbox FROM edits WHERE message = ? ORDER BY id", h.seq)
	var came []edit
	list, says, before := []string{h.seq}, map[string]string{h.seq: u.text}, map[string]string{}
	for _, row := range rows {
		came = append(came, edit{row[0], row[1]})
		last := list[len(list)-1]
		if in := row[2]; in != last {
			list, before[in] = append(list, in), says[last]
		} else if in == h.seq {
			s.inPlace++
		}
		says[row[2]] = row[1]
	}
	s.edits += len(u.edits)
	if !slices.Equal(came, u.edits) {
		broken = append(broken, fmt.Sprintf("I1 message %s of %s was changed to %q, and that came as %q", u.id, u.at.name, u.edits, came))
	}
	for _, seq := range list {
		want := says[seq]
		if seq != h.seq {
			want = "[edited message, before: “" + before[seq] + "”]\n" + want
		}
		if got := b.words(seq); got != want {
			broken = append(broken, fmt.Sprintf("I1 message %s of %s is %q in row %s, want %q", u.id, u.at.name, got, seq, want))
		}
	}
	if len(list) > 1 && u.unread && !h.answers() {
		broken = append(broken, fmt.Sprintf("I1 message %s of %s was changed before hob could hear of it, and its old text was read", u.id, u.at.name))
	}
	return broken
}

// checkDeleted checks the deleted messages: one that no turn had read is never read.
func (u *chatMessage) checkDeleted(b records, s *serverCounts) (broken []string) {
	s.deleted++
	h, n := b.rowOf(u)
	says := func(what string) []string {
		return []string{fmt.Sprintf("I1 message %s of %s (%s) was deleted, and %s: %+v", u.id, u.at.name, u.text, what, h)}
	}
	switch {
	case n == 0: // hob had not heard of it
		s.inTime++
	case n > 1:
		return says(fmt.Sprintf("has %d rows", n))
	case u.unread:
		return says("hob could not hear of it before")
	case h.state == "dropped":
		s.inTime++
		s.takenBack++
		if h.turn != "0" || h.reason != "whoever wrote it has deleted it" || b.number("SELECT count(*) FROM items WHERE inbox = ?", h.seq) > 0 {
			return says("was dropped, or was it read")
		}
	case h.state != "done":
		return says("has not ended")
	}
	return nil
}

// checkAttachment checks the files of a message: there is one copy for hob and one for its tools, with the content that was sent.
func (r *harness) checkAttachment(b records, u *chatMessage, h inboxRow, s *serverCounts) (broken []string) {
	if u.file == nil {
		return nil
	}
	s.filesIn++
	says := func(format string, args ...any) {
		broken = append(broken, fmt.Sprintf("I1 the file %s of %s: ", u.file.name, u.at.name)+fmt.Sprintf(format, args...))
	}
	path, sum := "attachments/"+h.seq+"/"+u.file.name, sha256.Sum256(u.file.content)
	rows := b.rows(`SELECT p.value ->> 'name', p.value ->> 'artifact', a.sha256 FROM inbox i, json_each(i.parts) p LEFT JOIN artifacts a ON a.id = p.value ->> 'artifact'
		WHERE i.seq = ? AND p.value ->> 'kind' <> 'text'`, h.seq)
	if len(rows) != 1 || rows[0][0] != path || rows[0][2] != hex.EncodeToString(sum[:]) {
		says("came in as %q", rows)
		return broken
	}
	if n := b.number("SELECT count(*) FROM artifacts WHERE name = ?", u.file.name); n != 1 {
		s.doubled++
		says("is kept %d times", n)
	}
	for _, place := range []string{filepath.Join("workspace", filepath.FromSlash(path)), filepath.Join("state", "artifacts", rows[0][1])} {
		if got, err := os.ReadFile(filepath.Join(r.home, place)); err != nil || !bytes.Equal(got, u.file.content) {
			says("there are other bytes in %s: %d of %d, %v", place, len(got), len(u.file.content), err)
		}
	}
	return broken
}

// checkStrayFiles checks I11 for attachments: there is no copy without its message.
func (r *harness) checkStrayFiles(b records) (broken []string) {
	root := filepath.Join(r.home, "workspace", "attachments")
	folders, err := os.ReadDir(root)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return []string{err.Error()}
	}
	for _, folder := range folders {
		files, err := os.ReadDir(filepath.Join(root, folder.Name()))
		if err != nil {
			return append(broken, err.Error())
		}
		if n := b.number("SELECT count(*) FROM inbox, json_each(parts) p WHERE seq = ? AND p.value ->> 'kind' <> 'text'", folder.Name()); n == 0 || int(n) != len(files) {
			broken = append(broken, fmt.Sprintf("I11 %d files in %s, of %d that came", len(files), folder.Name(), n))
		}
	}
	return broken
}

// checkButtons checks I8 for buttons: each press came in once, and the first press below an open question is its answer, whatever is
// pressed later.
func (r *harness) checkButtons(b records, v *chatServer, s *serverCounts) (broken []string) {
	first := map[string]bool{}
	for _, t := range r.chats.taps {
		if t.at != v {
			continue
		}
		s.taps++
		rows := b.rows("SELECT seq, kind, trust, state FROM inbox WHERE source = ? AND ext_id = ?", v.name, t.id)
		if len(rows) != 1 || !slices.Equal(rows[0][1:], []string{"command", "owner", "done"}) {
			s.lostIn++
			broken = append(broken, fmt.Sprintf("I1 the press of %q (%s) on %s is not there once: %q", t.data, t.id, v.name, rows))
			continue
		}
		q := b.rows("SELECT options, answer, coalesce(answered_by, 0), (SELECT source FROM inbox WHERE seq = answered_by) FROM questions WHERE code = ?", t.code)[0]
		again := first[t.code]
		first[t.code] = true
		switch mine := q[2] == rows[0][0]; {
		case mine && again:
			broken = append(broken, fmt.Sprintf("I8 question %s was answered by the second press, %q", t.code, t.data))
		case mine && q[1] != meaning(t.data, q[0]):
			broken = append(broken, fmt.Sprintf("I8 question %s was answered with %q, and means %q", t.code, t.data, q[1]))
		case mine:
			s.tapsKept++
		}
	}
	return broken
}

// meaning is the answer that the command behind a button gives to a question with these options.
func meaning(data, options string) string {
	word := strings.Fields(data)
	switch {
	case word[0] == "/deny":
		return "no"
	case word[0] == "/approve" && len(word) == 3:
		return word[2]
	case word[0] == "/approve":
		return "once"
	}
	var list []string
	n, err := strconv.Atoi(strings.TrimPrefix(word[2], "#"))
	if json.Unmarshal([]byte(options), &list) != nil || err != nil || n < 1 || n > len(list) {
		return "nothing: " + data
	}
	return list[n-1]
}

// changed wants all that people can change their minds about to have happened, before hob had read it and after.
func (a serverCounts) changed(t *testing.T) {
	t.Helper()
	for what, n := range map[string]int{
		"file came": a.filesIn, "edit came in time": a.inPlace, "edit came too late": a.edits - a.inPlace, "message was taken back": a.takenBack,
		"deletion came too late": a.deleted - a.inTime, "button answered": a.tapsKept, "button came too late": a.taps - a.tapsKept,
	} {
		if n == 0 {
			t.Errorf("no %s: that was not put to the test", what)
		}
	}
}

package store

import (
	"cmp"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"hob/daemon/event"
	"hob/daemon/sqlite"
)

// Limits of the transcript that /clean carries over, in characters: per entry and in total. The newest entries are kept.
const (
	maxTranscriptEntry = 2_000
	maxTranscript      = 40_000
)

// transcriptEntry is one item of a transcript with the fields that cleaning needs.
type transcriptEntry struct {
	seq, inbox, size   int64
	kind, tool, source string
	text, args         string
	trust              event.Trust
}

// cleanSession starts a new conversation with the same key. It carries over the owner's messages, and everything from before foreign text
// was read. It replaces the rest by handles, and archives the old conversation. The result is a sentence for the owner.
func cleanSession(tx *Tx, key string) (string, error) {
	var old int64
	var kind string
	var mark event.Trust
	err := tx.One("SELECT id, kind, watermark FROM sessions WHERE key = ? AND archived = 0", []any{key}, &old, &kind, &mark)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return "There is nothing to clean: the conversation is empty.", nil
	case err != nil:
		return "", err
	case mark == event.Owner:
		return "There is nothing to clean: no foreign text has been read in this conversation.", nil
	}
	// The old session stays readable; the new one begins with the owner's trust and the part of the conversation that is not foreign.
	list, last, err := readTranscript(tx, old)
	if err != nil {
		return "", fmt.Errorf("read transcript: %w", err)
	}
	if err := tx.Run("UPDATE sessions SET archived = ? WHERE id = ?", sqlite.Micros(tx.Now), old); err != nil {
		return "", err
	}
	fresh, err := tx.Insert("INSERT INTO sessions (key, kind, watermark, created) VALUES (?, ?, 'owner', ?)", key, kind, sqlite.Micros(tx.Now))
	if err != nil {
		return "", err
	}
	text, left := writeTranscript(list)
	// An item needs a turn. The note gets the newest turn of the old session, which has ended.
	if text != "" && last != 0 {
		parts, err := sqlite.Doc(event.Say(text))
		if err != nil {
			return "", err
		}
		if err := tx.Run("INSERT INTO items (session, turn, step, role, kind, parts, trust, source) VALUES (?, ?, 0, 'user', 'note', ?, 'owner', 'hob')", fresh, last, parts); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("Cleaned: %s left out and replaced by references. The old conversation is kept as session %d.", countForeign(left), old), nil
}

// countForeign describes the number of texts that were left out.
func countForeign(n int) string {
	if n == 1 {
		return "1 piece of foreign or derived text is"
	}
	return fmt.Sprintf("%d pieces of foreign or derived text are", n)
}

// readTranscript reads the items of the session's ended turns as requests show them, and the newest of these turns. The summaries come first.
func readTranscript(tx *Tx, session int64) (list []transcriptEntry, last int64, err error) {
	c, err := scanInForce(tx.Query(newestCompaction, session))
	if err != nil {
		return nil, 0, err
	}
	rs, err := tx.Query(`SELECT i.seq, coalesce(i.inbox, 0), i.kind, i.tool, i.source, coalesce(i.args, ''), i.trust, length(i.parts),
		coalesce((SELECT group_concat(json_extract(p.value, '$.text'), char(10)) FROM json_each(i.parts) p WHERE json_extract(p.value, '$.kind') = 'text'), '')
		FROM items i JOIN turns t ON t.id = i.turn WHERE i.session = ?1 AND t.ended > 0 AND i.kind <> 'reasoning' AND iif(i.kind = 'summary', i.compaction = ?3, i.seq >= ?2) ORDER BY i.kind <> 'summary', i.seq`,
		session, c.cut, c.summaries)
	list, err = sqlite.Collect(rs, err, func(rs *sql.Rows) (e transcriptEntry, err error) {
		return e, rs.Scan(&e.seq, &e.inbox, &e.kind, &e.tool, &e.source, &e.args, &e.trust, &e.size, &e.text)
	})
	if err != nil {
		return nil, 0, err
	}
	err = tx.One("SELECT coalesce(max(id), 0) FROM turns WHERE session = ? AND ended > 0", []any{session}, &last)
	return list, last, err
}

// writeTranscript formats the newest entries up to the limit, and counts the handles among them.
//
// It goes through the entries from the newest back, so that the limit drops the oldest ones.
func writeTranscript(list []transcriptEntry) (text string, handles int) {
	var lines []string
	size := 0
	for i := len(list) - 1; i >= 0 && size < maxTranscript; i-- {
		line := list[i].line()
		if list[i].trust != event.Owner {
			handles++
		}
		lines = append(lines, line)
		size += len(line)
	}
	if len(lines) == 0 {
		return "", 0
	}
	var b strings.Builder
	b.WriteString("[hob] The owner has cleaned this conversation. So far, with what came from elsewhere left out:")
	for i := len(lines) - 1; i >= 0; i-- {
		b.WriteString("\n" + lines[i])
	}
	return b.String(), handles
}

// line formats an entry. An entry with foreign content shows only numbers and hob's own words.
func (e transcriptEntry) line() string {
	if e.trust != event.Owner {
		return e.handle()
	}
	switch e.kind {
	case "input":
		return "Owner: " + shortened(e.text)
	case "call":
		return "You called " + e.tool + " " + shortened(e.args)
	case "result":
		return e.tool + " answered: " + shortened(e.text)
	case "text":
		return "You: " + shortened(e.text)
	}
	return shortened(e.text)
}

// handle returns the placeholder for a foreign entry that is left out of a clean transcript. It has the entry's number, so that the model
// can refer to it.
func (e transcriptEntry) handle() string {
	what := map[string]string{"input": "message", "call": "call", "result": "result", "text": "answer of yours"}[e.kind]
	what = cmp.Or(what, "note")
	// An input is known to the owner by its number in the inbox.
	number := cmp.Or(e.inbox, e.seq)
	return fmt.Sprintf("[%s #%d, %s, left out: it is, or was written after, foreign text]", what, number, sizeText(e.size))
}

// shortened cuts a text to the length of a transcript entry.
func shortened(text string) string {
	if r := []rune(text); len(r) > maxTranscriptEntry {
		return string(r[:maxTranscriptEntry]) + "…"
	}
	return text
}

// sizeText words a size in bytes or kilobytes.
func sizeText(n int64) string {
	if n < 1024 {
		return fmt.Sprintf("%d bytes", n)
	}
	return fmt.Sprintf("%d KB", (n+512)/1024)
}

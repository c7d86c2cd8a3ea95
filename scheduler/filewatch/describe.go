package filewatch

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"

	"hob/daemon/event"
	"hob/daemon/text"
)

// Limits of the text of an event.
const (
	maxNames = 200
	maxDiff  = 8 << 10  // bytes per file
	maxDiffs = 24 << 10 // bytes of all files
)

// keyOf returns the key of a set of changes. The same contents at the same paths give the same key, so they are reported only once.
// Versions represent the contents: each new content of a path has another one. The key has 32 hex digits.
func keyOf(told []finding) string {
	sum := sha256.New()
	for _, f := range told {
		sum.Write(fmt.Appendf(nil, "%s\x00%s\x00%s\x00%d\x00", f.kind, f.from, f.path(), f.now.version))
	}
	return hex.EncodeToString(sum.Sum(nil)[:16])
}

// inOf returns the inbox row of an event. File names and contents may come from anybody, so the row is always tainted and never typed by
// the owner.
// The prompt is the first part, and the list of changes is the last.
func inOf(w Watch, changes []Change, key string, now time.Time) *event.In {
	return &event.In{
		Source: "watch:" + w.Name, ExtID: fmt.Sprintf("%d:%s", w.ID, key), Session: w.SessionKey(), Kind: event.Fire, Rank: event.RankRest,
		Trust: w.Trust, Tainted: true, Sender: w.Name, ReplyTo: w.Deliver, Received: now,
		Parts: append(event.Say(w.Prompt), event.Say(compose(w.Name, changes))...),
	}
}

// compose writes the text of an event: a line for each of the first files, counts for the rest, and the diffs.
func compose(name string, changes []Change) string {
	var b strings.Builder
	fmt.Fprintf(&b, "[watch %s: %s]\n", name, counted(changes))
	for _, c := range changes[:min(len(changes), maxNames)] {
		b.WriteString("- " + line(c) + "\n")
	}
	if len(changes) > maxNames {
		fmt.Fprintf(&b, "and %d more: %s\n", len(changes)-maxNames, counted(changes[maxNames:]))
	}
	for _, c := range changes {
		if c.Diff != "" {
			b.WriteString("\n" + c.Diff)
		}
	}
	return b.String()
}

// line describes a change in one line.
func line(c Change) string {
	text := past(c.Kind) + " " + shown(c.Path)
	if c.Kind == Rename {
		text += " (was " + shown(c.From) + ")"
	}
	switch {
	case c.Files > 0:
		text += ", a folder with " + count(c.Files, "file")
	case c.Kind != Remove:
		text += ", " + count(int(c.Size), "byte")
	}
	if c.Changing {
		text += ", still changing"
	}
	return text
}

// past returns the kind of a change as a past participle.
// Write gives "changed", because a touched file without new content is never reported.
func past(k Kind) string {
	switch k {
	case Create:
		return "created"
	case Remove:
		return "removed"
	case Rename:
		return "renamed"
	}
	return "changed"
}

// counted returns the numbers of changes by kind: "2 created, 1 removed".
func counted(changes []Change) string {
	n := map[Kind]int{}
	for _, c := range changes {
		n[c.Kind]++
	}
	var parts []string
	for _, k := range Kinds() {
		if n[k] > 0 {
			parts = append(parts, strconv.Itoa(n[k])+" "+past(k))
		}
	}
	return strings.Join(parts, ", ")
}

// count returns a number with its noun.
func count(n int, thing string) string { return text.Count(n, thing) }

// shown returns a path for a text. It is quoted if it contains invisible characters.
func shown(path string) string {
	if !utf8.ValidString(path) || strings.ContainsFunc(path, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(path)
	}
	return path
}

// budget limits the diffs of an event.
type budget struct{ left int }

// open reports whether another diff may be shown.
func (b *budget) open() bool { return b.left > 0 }

// take cuts a diff to the remaining size, in whole lines.
// A diff that is cut ends with the number of missing lines.
func (b *budget) take(diff string) string {
	room := min(maxDiff, b.left)
	if len(diff) > room {
		kept := diff[:strings.LastIndexByte(diff[:room], '\n')+1]
		diff = fmt.Sprintf("%s(%s of the diff more)\n", kept, count(strings.Count(diff[len(kept):], "\n"), "line"))
		b.left -= room
		return diff
	}
	b.left -= len(diff)
	return diff
}

// unified returns the difference of two texts, or "". Control characters are shown as U+FFFD.
// The diff goes to the model and to people, and a terminal must not obey the text of a file.
func unified(path string, created bool, old, now []byte) string {
	if bytes.Equal(old, now) {
		return ""
	}
	from := shown(filepath.ToSlash(path))
	if created {
		from = "/dev/null"
	}
	diff := udiff.Unified(from, shown(filepath.ToSlash(path)), string(old), string(now))
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && unicode.IsControl(r) {
			return utf8.RuneError
		}
		return r
	}, diff)
}

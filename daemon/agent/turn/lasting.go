package turn

import (
	"fmt"
	"slices"
	"strings"

	"hob/daemon/event"
	"hob/daemon/llm"
)

// Lasting holds the rows of a session that each summary must contain. They are rendered from the rows, not by a model.
type Lasting struct {
	Request                               string // the owner's newest input
	RequestSeq                            int64  // of its item
	Plan                                  bool   // the session is in plan mode
	Todos, Tasks, Jobs, Questions, Grants []Row
	Waiting                               []int64 // turns of the session that wait: no cut may come after their first item
	Forgotten                             []int64 // Forgotten             []int64 // items with facts that the owner removed: no summary may use them
}

// Row is one row in a few words.
type Row struct {
	Name    string // such as "job 7 morning"
	Text    string
	State   string // "" for none
	Foreign bool   // Text was written by others, or after their text was read
}

// Remembered returns the items of which a summary may be made.
func (l Lasting) Remembered(items []llm.Item) []llm.Item {
	if len(l.Forgotten) == 0 {
		return items
	}
	return slices.DeleteFunc(slices.Clone(items), func(it llm.Item) bool { return slices.Contains(l.Forgotten, it.Seq) })
}

// Lengths of what a Lasting shows, in characters.
const (
	longestWish = 8_000
	longestRow  = 500
)

// Text renders the rows, and the owner's last request if its item is before the cut. It returns "" when there is nothing.
// Foreign text is left out and named.
func (l Lasting) Text(cut int64) string {
	var b strings.Builder
	if l.Request != "" && l.RequestSeq < cut {
		fmt.Fprintf(&b, "The owner's last request: %s\n", event.Shorten(strings.TrimSpace(l.Request), longestWish))
	}
	if l.Plan {
		b.WriteString("This conversation is in plan mode: nothing may change.\n")
	}
	for _, part := range []struct {
		head string
		rows []Row
	}{
		{"Todo list, not completed", l.Todos},
		{"Open tasks", l.Tasks},
		{"Jobs and watches made in this conversation", l.Jobs},
		{"Questions that wait for an answer", l.Questions},
		{"Permanent permissions given in this conversation", l.Grants},
	} {
		if len(part.rows) == 0 {
			continue
		}
		b.WriteString(part.head + ":\n")
		for _, r := range part.rows {
			b.WriteString("- " + r.line() + "\n")
		}
	}
	return strings.TrimSpace(b.String())
}

// Blocks names the questions or turns that prevent further compaction of the session while a turn asks a model, and says how to end them.
// It returns "" if there are none.
func (l Lasting) Blocks(running int64) string {
	var list []string
	for _, q := range l.Questions {
		code := strings.TrimPrefix(q.Name, "question ")
		list = append(list, fmt.Sprintf("question %s waits (/approve %s, /deny %s or /answer %s TEXT)", code, code, code, code))
	}
	if len(list) > 0 {
		return strings.Join(list, "; ")
	}
	for _, id := range l.Waiting {
		if id != running {
			list = append(list, fmt.Sprintf("turn %d waits (hob turns show %d; /stop all ends it)", id, id))
		}
	}
	return strings.Join(list, "; ")
}

func (r Row) line() string {
	line := r.Name
	if r.State != "" {
		line += " (" + r.State + ")"
	}
	if r.Foreign {
		return fmt.Sprintf("%s: text of others, %d bytes, left out", line, len(r.Text))
	}
	return line + ": " + strings.Join(strings.Fields(event.Shorten(r.Text, longestRow)), " ")
}

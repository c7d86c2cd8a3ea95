//go:build linux

package crashtest_test

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"hob/channels"
	"hob/channels/markup"
)

// serverCounts are the results of one chat server.
type serverCounts struct {
	in, lostIn         int // messages that hob was to take up
	out, lost          int // parts that were sent
	doubled            int // parts that arrived again without saying so, or where they never may
	repeated           int // parts that arrived again, as is promised where there is neither a key nor a look
	marked             int // parts whose message says that it may be a repeat
	asked, dropped     int // parts of which the owner was asked, and those that he let go
	cuts, grew, files  int // ordered; answers that grew; files that arrived
	bursts, burstsKept int // pairs sent within the debounce time; those read together
	edits, inPlace     int // of what the owner said; those that came before it was read
	deleted, inTime    int // those that nobody had read by then
	takenBack          int // of them, those that hob had stored
	taps, tapsKept     int // presses of a button; those that answered
	filesIn            int
}

func (a *serverCounts) add(b serverCounts) {
	a.in += b.in
	a.lostIn += b.lostIn
	a.out += b.out
	a.lost += b.lost
	a.doubled += b.doubled
	a.repeated += b.repeated
	a.marked += b.marked
	a.asked += b.asked
	a.dropped += b.dropped
	a.cuts += b.cuts
	a.grew += b.grew
	a.files += b.files
	a.bursts += b.bursts
	a.burstsKept += b.burstsKept
	a.edits += b.edits
	a.inPlace += b.inPlace
	a.deleted += b.deleted
	a.inTime += b.inTime
	a.takenBack += b.takenBack
	a.taps += b.taps
	a.tapsKept += b.tapsKept
	a.filesIn += b.filesIn
}

// classes are the rows of the table, in its order.
func classes() []channels.Repeats {
	return []channels.Repeats{channels.ByKey, channels.ByLook, channels.Marked}
}

// table shows what came of each class.
func table(by map[channels.Repeats]serverCounts) string {
	const more = "%9s %16s %16s %16s"
	pair := func(some, all int) string { return fmt.Sprintf("%d of %d", some, all) }
	out := fmt.Sprintf("%-6s %6s %6s %6s %6s %8s %9s %7s %6s %8s %5s %5s %6s %13s", "class", "in", "lost", "out", "lost", "doubled", "repeated", "marked", "asked", "dropped", "cuts", "grew", "files", "in one breath") + fmt.Sprintf(more, "files in", "edited unread", "deleted unread", "pressed first")
	for _, class := range classes() {
		s := by[class]
		out += fmt.Sprintf("\n%-6s %6d %6d %6d %6d %8d %9d %7d %6d %8d %5d %5d %6d %6d of %3d", class, s.in, s.lostIn, s.out, s.lost, s.doubled, s.repeated, s.marked, s.asked, s.dropped, s.cuts, s.grew, s.files, s.burstsKept, s.bursts) +
			fmt.Sprintf(more, fmt.Sprint(s.filesIn), pair(s.inPlace, s.edits), pair(s.inTime, s.deleted), pair(s.tapsKept, s.taps))
	}
	return out
}

// checkChats compares what was written on the chat servers, and what arrived there, with the guarantees of each platform.
func (r *harness) checkChats(b records, sum *counts) (broken []string) {
	if r.chats == nil {
		return nil
	}
	sum.classes = map[channels.Repeats]serverCounts{}
	for _, v := range r.chats.venues {
		s := serverCounts{cuts: r.chats.cuts[v]}
		broken = append(broken, r.checkReceived(b, v, &s)...)
		broken = append(broken, sentTo(b, v).judge(r.crashes, &s)...)
		total := sum.classes[v.class]
		total.add(s)
		sum.classes[v.class] = total
		sum.inputs += s.in
		sum.lost += s.lost + s.lostIn
		sum.doubled += s.doubled
	}
	return broken
}

// checkReceived checks I1 for a chat server: the inbox has each message that hob had to accept once, unchanged, and no other.
func (r *harness) checkReceived(b records, v *chatServer, s *serverCounts) (broken []string) {
	expected, pairs := map[string]bool{}, map[int][]inboxRow{}
	for _, u := range r.chats.said {
		if u.at != v || !u.expected() {
			continue
		}
		s.in++
		expected[u.id] = true
		for _, e := range u.edits {
			expected[e.id] = true
		}
		if u.gone {
			broken = append(broken, u.checkDeleted(b, s)...)
			continue
		}
		h, n := b.rowOf(u)
		if n != 1 {
			s.lostIn++
			broken = append(broken, fmt.Sprintf("I1 message %s of %s (%s) is lost: %d rows", u.id, v.name, u.text, n))
			continue
		}
		if (u.who == owner) != (h.trust == "owner") {
			broken = append(broken, fmt.Sprintf("I1 message %s of %s (%s) came in as that of %s", u.id, v.name, u.text, h.trust))
		}
		broken = append(broken, u.checkText(b, h, s)...)
		broken = append(broken, r.checkAttachment(b, u, h, s)...)
		if u.burst > 0 {
			pairs[u.burst] = append(pairs[u.burst], h)
		}
	}
	for _, t := range r.chats.taps {
		expected[t.id] = expected[t.id] || t.at == v
	}
	for _, row := range b.rows("SELECT ext_id FROM inbox WHERE source = ?", v.name) {
		if !expected[row[0]] {
			broken = append(broken, fmt.Sprintf("I1 nobody who is heard has said %s of %s", row[0], v.name))
		}
	}
	return slices.Concat(broken, checkPairs(v, pairs, s), r.checkButtons(b, v, s))
}

// checkPairs checks pairs of messages sent within the debounce time while hob is down: they come in one commit, wait together, and are claimed together,
// so that one turn reads them. Only an answer to a question belongs to no turn.
func checkPairs(v *chatServer, pairs map[int][]inboxRow, s *serverCounts) (broken []string) {
	for _, pair := range pairs {
		s.bursts++
		switch {
		case len(pair) == 1 || slices.ContainsFunc(pair, inboxRow.answers): // one was deleted, or is the answer to a question
		case pair[0].turn == pair[1].turn:
			s.burstsKept++
		default:
			broken = append(broken, fmt.Sprintf("I3 %s: what was said in one breath is in the turns %s and %s", v.name, pair[0].turn, pair[1].turn))
		}
	}
	return broken
}

// sentMessages is what hob has sent to one chat server, according to its database and according to the server.
type sentMessages struct {
	v      *chatServer
	parts  []sentPart
	came   []received
	byID   map[string][]int // parts by the id of the message that shows them; the newest shows what it says
	places map[string]int   // of what arrived
}

// sentPart is one part of a row of the outbox.
type sentPart struct {
	row, part                int64
	to, body, file           string
	remote, key, state, rowS string // the platform's id; the row's key; the part's and the row's state
	reason                   string
	asked                    int64 // how often the owner was asked whether to send the row again
}

func sentTo(b records, v *chatServer) sentMessages {
	p := sentMessages{v: v, came: v.arrived(), byID: map[string][]int{}, places: map[string]int{}}
	rows := b.rows(`SELECT o.id, d.part, o.address, d.body, coalesce(json_extract(d.file, '$.name'), ''), d.remote_id, o.key, d.state, o.state, o.reason,
		(SELECT count(*) FROM questions q WHERE q.subject = 'outbox' AND q.ref = o.id)
		FROM outbox o JOIN deliveries d ON d.outbox = o.id WHERE o.address LIKE ? || ':%' ORDER BY o.id, d.part`, v.name)
	for i, row := range rows {
		s := sentPart{to: strings.TrimPrefix(row[2], v.name+":"), body: row[3], file: row[4], remote: row[5], key: row[6], state: row[7], rowS: row[8], reason: row[9]}
		s.row, s.part, s.asked = whole(row[0]), whole(row[1]), whole(row[10])
		p.parts = append(p.parts, s)
		if s.remote != "" {
			p.byID[s.remote] = append(p.byID[s.remote], i)
		}
	}
	for i, a := range p.came {
		p.places[a.id] = i
	}
	return p
}

func whole(s string) (n int64) {
	if _, err := fmt.Sscan(s, &n); err != nil {
		return -1
	}
	return n
}

// judge is I5: what counts as sent has arrived as it was said, in order, and not more often than its class allows.
func (p sentMessages) judge(crashes int, s *serverCounts) (broken []string) {
	for i, d := range p.parts {
		broken = append(broken, p.ended(i, d, s)...)
	}
	extra := 0
	for i, a := range p.came {
		place, _, _ := strings.Cut(a.to, "/")
		if !slices.Contains(p.v.places, place) {
			broken = append(broken, fmt.Sprintf("I5 %s: somebody whom hob does not know got %s", p.v.name, cut(a.text)))
		}
		if strings.HasSuffix(a.text, mark) {
			s.marked++
		}
		if a.grew {
			s.grew++
		}
		if a.file != "" {
			s.files++
		}
		if len(p.byID[a.id]) == 0 {
			extra++
			broken = append(broken, p.unclaimed(i, a, s)...)
		}
	}
	if extra > crashes+s.cuts {
		broken = append(broken, fmt.Sprintf("I5 %s: %d repeats with %d crashes and %d cuts", p.v.name, extra, crashes, s.cuts))
	}
	return append(broken, p.inOrder()...)
}

// ended is what a part has come to.
func (p sentMessages) ended(i int, d sentPart, s *serverCounts) (broken []string) {
	says := func(format string, args ...any) {
		broken = append(broken, "I5 "+p.v.name+": "+fmt.Sprintf(format, args...))
	}
	if d.asked > 0 {
		s.asked++
		if p.exactlyOnce(d.file) {
			says("the owner was asked about %s, although it can be known whether it arrived: %s", d.key, cut(d.body))
		}
	}
	switch {
	case d.rowS == "cancelled" && d.asked > 0 && d.reason == "the owner said drop":
		s.dropped++
		return nil
	case d.rowS == "cancelled" && strings.HasSuffix(d.key, ":draft"):
		return nil
	case d.rowS != "done" || d.state != "sent":
		says("%s ended as %s, its part as %s: %s", d.key, d.rowS, d.state, d.reason)
		return broken
	}
	s.out++
	at, there := p.places[d.remote]
	if !there {
		s.lost++
		says("%s counts as sent and never arrived: %s", d.key, cut(d.body))
		return broken
	}
	a := p.came[at]
	if ids := p.byID[d.remote]; ids[len(ids)-1] == i && !p.shows(a, d) {
		says("%s arrived as something else: %s, want %s", d.key, cut(a.text), cut(d.body))
	}
	if strings.HasSuffix(a.text, mark) && p.exactlyOnce(d.file) {
		says("%s is marked, although it cannot be a repeat: %s", d.key, cut(a.text))
	}
	return broken
}

// exactlyOnce reports whether a platform never shows a message twice. Files on Slack have no key by which a repeat could be recognised.
func (p sentMessages) exactlyOnce(file string) bool {
	return p.v.class == channels.ByKey || p.v.class == channels.ByLook && file == ""
}

// shows tells whether a message says what a part was to say, with the marks behind it.
func (p sentMessages) shows(a received, d sentPart) bool {
	return a.to == d.to && a.file == d.file && strings.HasPrefix(plainLetters(a.text), plainLetters(markup.Plain().Render(d.body).Text))
}

// plainLetters is the part of a text that is the same on each platform.
func plainLetters(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return -1
	}, s)
}

// unclaimed is a message that hob does not know to have sent: allowed where nothing can be known, if what came in its place says that it may be a
// repeat, or the owner was asked.
func (p sentMessages) unclaimed(i int, a received, s *serverCounts) (broken []string) {
	if p.exactlyOnce(a.file) {
		s.doubled++
		return []string{fmt.Sprintf("I5 %s: arrived twice: %s", p.v.name, cut(a.text+a.file))}
	}
	for _, d := range p.parts {
		if d.to != a.to || !p.shows(a, d) && !unfinished(a.text, d) {
			continue
		}
		at, sent := p.places[d.remote]
		switch {
		case d.asked > 0, sent && at > i && strings.HasSuffix(p.came[at].text, mark) && d.to == p.v.owner:
			s.repeated++
			return nil
		}
	}
	s.doubled++
	return []string{fmt.Sprintf("I5 %s: arrived again, and nothing says so: %s", p.v.name, cut(a.text+a.file))}
}

// unfinished tells whether a text may be an answer that is still being made, or stands for one that waits.
func unfinished(text string, d sentPart) bool {
	return strings.HasSuffix(d.key, ":final") && d.part == 0 && (strings.Contains(text, "Working…") || strings.Contains(text, " ahead of you"))
}

// inOrder holds the first arrivals at each place against the order of the outbox. What the owner was asked about held up nobody, and the further parts
// of an answer that grew come when it is whole.
func (p sentMessages) inOrder() (broken []string) {
	last := map[string]sentPart{}
	for _, a := range p.came {
		ids := p.byID[a.id]
		if len(ids) == 0 || p.parts[ids[0]].asked > 0 {
			continue
		}
		d := p.parts[ids[0]]
		if d.part > 0 && p.grown(d.row) {
			continue
		}
		if before := last[d.to]; d.row < before.row || d.row == before.row && d.part < before.part {
			broken = append(broken, fmt.Sprintf("I5 %s: out of order: %s/%d arrived after %s/%d", p.v.name, d.key, d.part, before.key, before.part))
		}
		last[d.to] = d
	}
	return broken
}

// grown tells whether the first part of a row was shown before it was whole.
func (p sentMessages) grown(row int64) bool {
	return slices.ContainsFunc(p.parts, func(d sentPart) bool {
		at, there := p.places[d.remote]
		return d.row == row && d.part == 0 && there && p.came[at].grew
	})
}

package email

import (
	"bufio"
	"bytes"
	"fmt"
	"mime"
	netmail "net/mail"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/emersion/go-message/charset"
	"github.com/emersion/go-message/textproto"

	"hob/channels"
)

// header is what the header of a mail says.
type header struct {
	ref
	from      string   // the only address in From, in small letters; "" when there is none, or more than one
	name      string   // that its writer shows
	to        []string // the addresses in To and Cc, as far as it is the writer who named them
	answers   string   // the id of what it answers, as <id>; "" for none
	judge     string   // the server whose Authentication-Results stand first; "" when there are none, or its name is none for the config
	vouched   bool     // the receiving server says that from's domain has sent it
	auto      bool     // a machine wrote it
	forwarded bool     // by its subject
}

// readHeader reads a header. fallback is the id of a mail without one.
func (c *Channel) readHeader(lines []byte, fallback string) (header, error) {
	raw := bufio.NewReader(bytes.NewReader(append(bytes.TrimRight(lines, "\r\n"), "\r\n\r\n"...)))
	h, err := textproto.ReadHeader(raw)
	if err != nil {
		return header{}, fmt.Errorf("read the header of a mail: %w", err)
	}
	subject := line(decoded(h.Get("Subject")), maxSubject)
	l := header{ref: ref{id: firstID(h.Get("Message-Id")), subject: subject}, answers: firstID(h.Get("In-Reply-To"))}
	if l.id == "" {
		l.id = fallback
	}
	if l.before = earlier(h.Get("References")); len(l.before) == 0 && l.answers != "" {
		l.before = []string{l.answers}
	}
	if from := addresses(h.Get("From")); len(from) == 1 && len(h.Values("From")) == 1 {
		l.from, l.name = fold(from[0].Address), line(from[0].Name, maxName)
	}
	if !isAddress(l.from) {
		l.from = ""
	}
	for _, key := range []string{"To", "Cc"} {
		if !signed(h.Values("Dkim-Signature"), key, domain(l.from)) {
			continue // whoever passed it on may have written it
		}
		for _, a := range addresses(h.Get(key)) {
			l.to = append(l.to, fold(a.Address))
		}
	}
	l.vouched = l.from != "" && !twice(h) && vouched(h.Values("Authentication-Results"), c.cfg.TrustResults, domain(l.from))
	if name, _, err := results(h.Get("Authentication-Results")); err == nil && serverForm.MatchString(name) {
		l.judge = name
	}
	l.auto = automatic(h, l.from)
	l.forwarded = regexp.MustCompile(`(?i)^(fwd?|wg|tr|rv|i|vs|doorst)\s*:`).MatchString(subject)
	return l, nil
}

// twice tells whether a header stands there again that a mail has once at most (RFC 5322, section 3.6). Of such a one a signature covers the lowest (RFC 6376,
// section 5.4.2), and programs read the topmost, which whoever passes the mail on can put there.
func twice(h textproto.Header) bool {
	return slices.ContainsFunc([]string{
		"From", "To", "Cc", "Subject", "Date", "Message-Id", "In-Reply-To", "References", "Content-Type", "Content-Transfer-Encoding",
	}, func(key string) bool { return len(h.Values(key)) > 1 })
}

// Sizes of what a header says, in characters.
const (
	maxSubject = 200
	maxName    = 100
)

func addresses(value string) []*netmail.Address {
	parser := netmail.AddressParser{WordDecoder: &mime.WordDecoder{CharsetReader: charset.Reader}}
	list, err := parser.ParseList(value)
	if err != nil {
		return nil
	}
	return list
}

// decoded is the text of a header (RFC 2047), as it stands where it cannot be decoded.
func decoded(value string) string {
	text, err := (&mime.WordDecoder{CharsetReader: charset.Reader}).DecodeHeader(value)
	if err != nil {
		return value
	}
	return text
}

// line is a text on one line, without what cannot be seen, of at most so many characters.
func line(text string, most int) string {
	text = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(text, "\uFFFD"), func(r rune) bool { return unicode.IsSpace(r) || unseen(r) }), " ")
	if runes := []rune(text); len(runes) > most {
		text = strings.TrimSpace(string(runes[:most-1])) + "…"
	}
	return text
}

// unseen are control characters, and those that turn a text around or hide in it.
func unseen(r rune) bool {
	return unicode.IsControl(r) || r >= 0x202A && r <= 0x202E || r >= 0x2066 && r <= 0x2069 || r == 0x200B || r == 0xFEFF
}

// idForm is a message's id (RFC 5322, section 3.6.4) as it may stand in a header of hob's.
const idForm = `<[!-;=?-~]{1,250}>`

func firstID(value string) string { return regexp.MustCompile(idForm).FindString(value) }

// maxEarlier is how many earlier mails of a thread are kept in mind: the first one and the latest.
const maxEarlier = 20

// earlier are the ids in a header References, the beginning of the thread first.
func earlier(value string) []string {
	ids := regexp.MustCompile(idForm).FindAllString(value, -1)
	if len(ids) > maxEarlier {
		ids = append(ids[:1], ids[len(ids)-maxEarlier+1:]...)
	}
	return ids
}

// automatic tells whether a machine wrote a mail: what RFC 3834 (section 2) says, and what programs before it and beside it write. Nothing of that is ever
// answered.
func automatic(h textproto.Header, from string) bool {
	word := func(key string) string {
		value, _, _ := strings.Cut(strings.ToLower(h.Get(key)), ";")
		return strings.TrimSpace(value)
	}
	switch word("Precedence") {
	case "bulk", "list", "junk", "auto_reply":
		return true
	}
	if v := word("Auto-Submitted"); v != "" && v != "no" {
		return true
	}
	if v := word("X-Auto-Response-Suppress"); v != "" && v != "none" {
		return true
	}
	for _, key := range []string{"List-Id", "List-Unsubscribe", "List-Post", "X-Autoreply", "X-Autorespond", "X-Autoresponder", "X-Loop", "Feedback-Id"} {
		if h.Has(key) {
			return true
		}
	}
	if h.Has("Return-Path") && strings.Trim(h.Get("Return-Path"), "<> \t") == "" {
		return true
	}
	if strings.HasPrefix(word("Content-Type"), "multipart/report") {
		return true
	}
	local, _, _ := strings.Cut(from, "@")
	return regexp.MustCompile(`^(mailer-daemon|postmaster|(no|do-?not)[-_.]?reply|bounces?|listserv|majordomo)([-+.=].*)?$`).MatchString(local)
}

// message is a mail as a message, but for its text and files. The address in From is taken for its writer only where the receiving server vouches for
// it; else it is nobody's, and no pairing.
func (c *Channel) message(l header) channels.Message {
	m := channels.Message{
		ID: l.ref.String(), From: channels.Person{ID: l.from, Name: l.name, Self: l.from == c.cfg.Address}, Chat: channels.Chat{ID: l.from, Thread: l.root()},
		ReplyTo: l.answers, Auto: l.auto,
		// what was not sent to hob itself came by somebody who has passed it on, with its signature
		Forwarded: l.forwarded || !slices.Contains(l.to, c.cfg.Address),
	}
	if m.From.Name == "" {
		m.From.Name = l.from
	}
	if !l.vouched && !m.From.Self {
		m.From.ID, m.Forwarded = "unverified:"+l.from, true
		m.Chat.ID = m.From.ID
	}
	return m
}

// ref is what an answer to a mail has to know. It is the mail's name for hob, so that it comes back as Delivery.ReplyRef.
type ref struct {
	id      string   // as <id>; without angles when the mail has none
	before  []string // the ids of the earlier mails of its thread, the first one first; none: it begins one
	subject string
}

// root is the id of the first mail of the thread.
func (r ref) root() string {
	if len(r.before) > 0 {
		return r.before[0]
	}
	return r.id
}

// String is the mail's name: "<id> <first><second> subject", of which the earlier ids are the mail's own where it begins a thread.
func (r ref) String() string {
	before := strings.Join(r.before, "")
	if before == "" {
		before = r.id
	}
	return strings.TrimRight(strings.Join([]string{r.id, before, r.subject}, " "), " ")
}

// readRef reads a name back. What somebody else wrote, as an id alone, counts as far as it goes.
func readRef(s string) ref {
	words := strings.SplitN(s, " ", 3)
	words = append(words, "", "")
	r := ref{id: words[0], subject: line(words[2], maxSubject)}
	if words[1] != r.id {
		r.before = earlier(words[1])
	}
	if !regexp.MustCompile("^" + idForm + "$").MatchString(r.id) {
		r.id = ""
	}
	return r
}

// answer is the subject of an answer, "" when the mail had none.
func (r ref) answer() string {
	if r.subject == "" || regexp.MustCompile(`(?i)^(re|aw|sv|antw)\s*(\[[0-9]+\])?:`).MatchString(r.subject) {
		return r.subject
	}
	return "Re: " + r.subject
}

// references are the header References of an answer: those of the mail that is answered, and that mail (RFC 5322, section 3.6.4).
func (r ref) references() string {
	return strings.Join(append(slices.Clone(r.before), r.id), "\r\n ")
}

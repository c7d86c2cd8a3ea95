package email

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/emersion/go-message/textproto"

	"hob/channels"
	"hob/daemon/mail"
	"hob/daemon/sys"
)

// header holds the parts of a mail's header that hob needs.
type header struct {
	threadRef
	from          string   // the single address in From, in lower case; "" if there is none or more than one
	name          string   // the author's display name
	to            []string // the addresses in To and Cc, as far as the author named them
	inReplyTo     string   // the id of the answered mail, as <id>; "" for none
	resultsServer string   // the server in the first Authentication-Results header; "" if there is none, or its name is unusable
	verified      bool     // the receiving server confirms the domain of from
	auto          bool     // sent by a program
	forwarded     bool     // according to the subject
}

// readHeader parses a header. fallback is the id of a mail without one.
func (c *Channel) readHeader(lines []byte, fallback string) (header, error) {
	fields, clean := mail.Fields(lines)
	raw := bufio.NewReader(bytes.NewReader(append(bytes.TrimRight(fields, "\r\n"), "\r\n\r\n"...)))
	h, err := textproto.ReadHeader(raw)
	if err != nil {
		return header{}, fmt.Errorf("read the header of a mail: %w", err)
	}
	subject := mail.Line(mail.Decoded(h.Get("Subject")), maxSubject)
	l := header{threadRef: threadRef{id: firstID(h.Get("Message-Id")), subject: subject}, inReplyTo: firstID(h.Get("In-Reply-To"))}
	l.id = cmp.Or(l.id, fallback)
	if l.before = earlier(h.Get("References")); len(l.before) == 0 && l.inReplyTo != "" {
		l.before = []string{l.inReplyTo}
	}
	// Several authors cannot all be verified, so such a mail has no author.
	if from := mail.Addresses(h.Get("From")); len(from) == 1 && len(h.Values("From")) == 1 {
		l.from, l.name = fold(from[0].Address), mail.Line(from[0].Name, maxName)
	}
	if !isAddress(l.from) {
		l.from = ""
	}
	for _, key := range []string{"To", "Cc"} {
		if !signed(h.Values("Dkim-Signature"), key, domain(l.from)) {
			continue // a server on the way may have added it
		}
		for _, a := range mail.Addresses(h.Get(key)) {
			l.to = append(l.to, fold(a.Address))
		}
	}
	// The receiving server may have ended the header at a line that is no field, and then it has not seen the author.
	l.verified = clean && l.from != "" && !repeated(h) && verifiedBy(h.Values("Authentication-Results"), c.cfg.TrustResults, domain(l.from))
	if name, _, err := results(h.Get("Authentication-Results")); err == nil && serverForm().MatchString(name) {
		l.resultsServer = name
	}
	l.auto = automatic(h, l.from)
	l.forwarded = forwardPattern().MatchString(subject)
	return l, nil
}

// repeated reports whether a header occurs twice that may occur only once (RFC 5322, section 3.6). A signature
// then covers the lowest (RFC 6376, section 5.4.2), while programs read the topmost, which anybody on the way
// could have added.
func repeated(h textproto.Header) bool {
	return slices.ContainsFunc([]string{
		"From", "To", "Cc", "Subject", "Date", "Message-Id", "In-Reply-To", "References", "Content-Type", "Content-Transfer-Encoding",
	}, func(key string) bool { return len(h.Values(key)) > 1 })
}

// Limits of header texts, in characters.
const (
	maxSubject = 200
	maxName    = 100
)

// idForm is the form of a message id (RFC 5322, section 3.6.4) that hob accepts for its own headers.
const idForm = `<[!-;=?-~]{1,250}>`

var (
	idPattern      = sys.Regexp(idForm)
	forwardPattern = sys.Regexp(`(?i)^(fwd?|wg|tr|rv|i|vs|doorst)\s*:`)
	answerPattern  = sys.Regexp(`(?i)^(re|aw|sv|antw)\s*(\[[0-9]+\])?:`)
	robotPattern   = sys.Regexp(`^(mailer-daemon|postmaster|(no|do-?not)[-_.]?reply|bounces?|listserv|majordomo)([-+.=].*)?$`)
)

// firstID returns the first message id in a header, "" if there is none.
func firstID(value string) string { return idPattern().FindString(value) }

// maxEarlier is how many mails of a thread are remembered: the first and the newest ones.
const maxEarlier = 20

// earlier returns the ids in a References header, the beginning of the thread first.
func earlier(value string) []string {
	ids := idPattern().FindAllString(value, -1)
	if len(ids) > maxEarlier {
		ids = append(ids[:1], ids[len(ids)-maxEarlier+1:]...)
	}
	return ids
}

// automatic reports whether a program sent a mail: by the headers of RFC 3834 (section 2), and by those that
// programs use instead. Such mail is never answered.
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
	// An empty return path marks a bounce (RFC 5321, section 4.5.5).
	if h.Has("Return-Path") && strings.Trim(h.Get("Return-Path"), "<> \t") == "" {
		return true
	}
	if strings.HasPrefix(word("Content-Type"), "multipart/report") {
		return true
	}
	local, _, _ := strings.Cut(from, "@")
	return robotPattern().MatchString(local)
}

// message converts a header. From counts as the author only if the receiving server verified it. Otherwise
// the author is an unknown person who can neither write nor pair.
func (c *Channel) message(l header) channels.Message {
	m := channels.Message{
		ID: l.threadRef.String(), From: channels.Person{ID: l.from, Name: l.name, Self: l.from == c.cfg.Address}, Chat: channels.Chat{ID: l.from, Thread: l.root()},
		ReplyTo: l.inReplyTo, Auto: l.auto,
		// A mail that is not addressed to hob was forwarded by somebody, including the original signature.
		Forwarded: l.forwarded || !slices.Contains(l.to, c.cfg.Address),
	}
	m.From.Name = cmp.Or(m.From.Name, l.from)
	if !l.verified && !m.From.Self {
		m.From.ID, m.Forwarded = "unverified:"+l.from, true
		m.Chat.ID = m.From.ID
	}
	return m
}

// threadRef is what an answer needs to know about a mail. Its text form is the message's id for hob, so that it
// returns as Delivery.ReplyRef.
type threadRef struct {
	id      string   // as <id>; without angle brackets if the mail has none
	before  []string // ids of the earlier mails of the thread, the first one first; none: the mail begins it
	subject string
}

// root returns the id of the first mail of the thread.
func (r threadRef) root() string {
	if len(r.before) > 0 {
		return r.before[0]
	}
	return r.id
}

// String returns the text form: "<id> <first><second> subject". A mail that begins a thread has its own id
// instead of earlier ones.
func (r threadRef) String() string {
	before := cmp.Or(strings.Join(r.before, ""), r.id)
	return strings.TrimRight(strings.Join([]string{r.id, before, r.subject}, " "), " ")
}

// readRef parses the text form. A bare id is accepted as well.
func readRef(s string) threadRef {
	// A bare id has no further words.
	words := strings.SplitN(s, " ", 3)
	words = append(words, "", "")
	r := threadRef{id: words[0], subject: mail.Line(words[2], maxSubject)}
	if words[1] != r.id {
		r.before = earlier(words[1])
	}
	if firstID(r.id) != r.id {
		r.id = ""
	}
	return r
}

// answer returns the subject of an answer, "" if the mail had none.
func (r threadRef) answer() string {
	if r.subject == "" || answerPattern().MatchString(r.subject) {
		return r.subject
	}
	return "Re: " + r.subject
}

// references returns the References header of an answer: the references of the answered mail, then its id
// (RFC 5322, section 3.6.4).
func (r threadRef) references() string {
	return strings.Join(append(slices.Clone(r.before), r.id), "\r\n ")
}

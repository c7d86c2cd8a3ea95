package irc

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"hob/channels"
)

// chanTypes begin the names of channels, where the server does not say otherwise.
const chanTypes = "#&"

// message is what a line says; false when it says nothing that hob could read. The session is locked.
func (s *session) message(l line) (channels.Message, bool) {
	nick, person := l.nick()
	me := s.nick
	if isOld(l, s.batches) && (fold(nick) == fold(s.ch.cfg.Nick) || fold(l.param(0)) == fold(s.ch.cfg.Nick)) {
		me = s.ch.cfg.Nick // hob's then; a dead connection may still have it
	}
	if !person || fold(nick) == fold(me) || s.isService(l) { // a server's, a service's, or hob's own, which comes back as an echo
		return channels.Message{}, false
	}
	chat, ok := place(l.param(0), me)
	if !ok {
		return channels.Message{}, false
	}
	m := channels.Message{Chat: chat, From: s.person(l, nick, chat.Group != ""), At: l.at(), ReplyTo: l.tags["+draft/reply"]}
	if chat.Group == "" {
		m.Chat.ID = m.From.ID
	}
	switch l.command {
	case "PRIVMSG", "NOTICE":
		m.Auto = l.command == "NOTICE" // RFC 2812, section 3.3.2: never answered
		text, ok := spoken(l.param(1), nick)
		if !ok {
			return channels.Message{}, false
		}
		m.ID = s.id(l, nick)
		m.Text, m.Mentioned = called(text, s.nick, s.ch.cfg.Nick)
	case "REDACT": // IRCv3 draft/message-redaction
		m.ID, m.Deletes = "redact/"+l.param(1), l.param(1)
	default:
		return channels.Message{}, false
	}
	return m, true
}

// isService tells whether a line was written by the network's services, a bouncer's module or a server's stand-in for the history, and not by a
// person. None of these has an account. Networks keep nicks that end in "Serv" for services; a nick that begins with "*" is a module of ZNC; Atheme
// and Anope name the host of services "services.NETWORK". A server that cannot replay a join as a JOIN (IRCv3 draft/event-playback is off) replays it as the
// words of a pseudo-client, which has no host of a person: ergo's is HistServ!HistServ@localhost.
func (s *session) isService(l line) bool {
	if named(l.tags["account"]) {
		return false
	}
	nick, rest, _ := strings.Cut(fold(l.source), "!")
	_, host, _ := strings.Cut(rest, "@")
	if strings.HasSuffix(nick, "serv") || strings.HasPrefix(nick, "*") || strings.HasPrefix(host, "services.") {
		return true
	}
	return isOld(l, s.batches) && !s.caps["draft/event-playback"] && slices.Contains([]string{"", "localhost", fold(s.ch.host)}, host)
}

// isOld tells whether a line is of the history, by the batches that are open.
func isOld(l line, batches map[string]string) bool {
	ref := l.tags["batch"]
	return ref != "" && strings.HasSuffix(batches[ref], "chathistory")
}

// place is where a message was written. What goes to the operators of a channel only, or to others, is none of hob's.
func place(target, me string) (channels.Chat, bool) {
	if fold(target) == fold(me) {
		return channels.Chat{}, true
	}
	if target == "" || !strings.ContainsAny(target[:1], chanTypes) {
		return channels.Chat{}, false
	}
	return channels.Chat{ID: fold(target), Group: fold(target), Title: target}, true
}

// person is who wrote a line: the account that the server vouches for. Without one a nick is a person only with trust_nicks; else
// it is somebody in a group, and in private nobody at all.
func (s *session) person(l line, nick string, group bool) channels.Person {
	p := channels.Person{Name: nick}
	_, bot := l.tags["bot"]
	_, draft := l.tags["draft/bot"]
	p.Bot = bot || draft
	account := s.people.who[fold(nick)]
	if s.caps["account-tag"] {
		account = l.tags["account"]
	}
	switch {
	case accountForm.MatchString("$" + account):
		p.ID = "$" + fold(account)
		s.people.wrote(p.ID, nick)
	case s.ch.cfg.TrustNicks && nickForm.MatchString(nick):
		p.ID = fold(nick)
	case group:
		p.ID = "~" + fold(nick) // which no list takes
	}
	return p
}

// id is the message's own where the server gives it one; else one that the same line has whenever the server sends it, as far as it
// says when that was.
func (s *session) id(l line, nick string) string {
	if id := l.tags["msgid"]; id != "" {
		return id
	}
	at := l.tags["time"]
	if at == "" {
		s.count++
		at = fmt.Sprint(s.ch.clock.Wall().UnixNano(), "/", s.count)
	}
	sum := sha256.Sum256([]byte(strings.Join([]string{at, nick, l.param(0), l.param(1)}, "\x00")))
	return hex.EncodeToString(sum[:16])
}

// spoken is a text without formatting. Of what programs say to each other (CTCP) only an action is speech; its words never begin
// a command.
func spoken(text, nick string) (string, bool) {
	if rest, ok := strings.CutPrefix(text, "\x01"); ok {
		action, ok := strings.CutPrefix(strings.TrimSuffix(rest, "\x01"), "ACTION ")
		if !ok {
			return "", false
		}
		text = "* " + nick + " " + action
	}
	return unformatted(text), true
}

// unformatted takes out the codes for colours and styles (modern.ircdocs.horse, "Formatting"), and other control characters.
func unformatted(text string) string {
	var b strings.Builder
	for text != "" {
		r, n := utf8.DecodeRuneInString(text)
		text = text[n:]
		switch {
		case r == '\x03':
			text = coloured(text, 2, "0123456789")
		case r == '\x04':
			text = coloured(text, 6, "0123456789abcdefABCDEF")
		case r == '\t' || !unicode.IsControl(r):
			b.WriteRune(r)
		}
	}
	return b.String()
}

// coloured is a text without the colours at its beginning: one, or two with a comma between.
func coloured(text string, most int, digits string) string {
	number := func(text string) int {
		n := 0
		for n < most && n < len(text) && strings.IndexByte(digits, text[n]) >= 0 {
			n++
		}
		return n
	}
	n := number(text)
	if n == 0 {
		return text
	}
	text = text[n:]
	if strings.HasPrefix(text, ",") {
		if n := number(text[1:]); n > 0 {
			text = text[1+n:]
		}
	}
	return text
}

// called is a text without the call of one of the nicks at its beginning, and whether it calls one anywhere, as a word of its own.
func called(text string, nicks ...string) (rest string, yes bool) {
	for _, nick := range nicks {
		low, nick := fold(text), fold(nick)
		for at := 0; ; {
			i := strings.Index(low[at:], nick)
			if i < 0 {
				break
			}
			i += at
			at = i + len(nick)
			before, _ := utf8.DecodeLastRuneInString(low[:i])
			after, _ := utf8.DecodeRuneInString(low[at:])
			if i > 0 && inNick(before) || at < len(low) && inNick(after) {
				continue
			}
			if rest := strings.TrimLeft(text[at:], " ,:"); strings.Trim(text[:i], " @") == "" && rest != "" {
				return rest, true
			}
			return text, true
		}
	}
	return text, false
}

// inNick tells whether a character next to a nick makes it another word.
func inNick(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("[]\\^_{|}`-", r)
}

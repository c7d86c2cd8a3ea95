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

// chanTypes are the first characters of channel names (CHANTYPES), as networks use them.
const chanTypes = "#&"

// message converts a line. It returns false if hob reads nothing in it. The caller holds the session's lock.
func (s *session) message(l line) (channels.Message, bool) {
	nick, person := l.nick()
	me := s.nick
	if isOld(l, s.batches) && (fold(nick) == fold(s.ch.cfg.Nick) || fold(l.param(0)) == fold(s.ch.cfg.Nick)) {
		me = s.ch.cfg.Nick // hob's nick at that time; a dead connection may still hold it
	}
	// These lines are not written by other people.
	if !person || fold(nick) == fold(me) || s.isService(l) { // from a server or a service, or hob's own message as an echo
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
		m.Auto = l.command == "NOTICE" // must never be answered (RFC 2812, section 3.3.2)
		text, ok := plainText(l.param(1), nick)
		if !ok {
			return channels.Message{}, false
		}
		m.ID = s.id(l, nick)
		m.Text, m.Mentioned = withoutMention(text, s.nick, s.ch.cfg.Nick)
	// The redaction gets its own id, so that it is stored beside the message.
	case "REDACT": // IRCv3 draft/message-redaction
		m.ID, m.Deletes = "redact/"+l.param(1), l.param(1)
	default:
		return channels.Message{}, false
	}
	return m, true
}

// isService reports whether a line comes from the network's services, a bouncer, or a server's replay of
// history, and not from a person. None of these has an account. Networks reserve nicks ending in "Serv" for
// services. A nick beginning with "*" is a module of ZNC. Atheme and Anope name the services' host
// "services.NETWORK". If draft/event-playback is off, a server replays joins as messages of a pseudo-client
// without a person's host; ergo's is HistServ!HistServ@localhost.
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

// isOld reports whether a line belongs to the history, by the open batches (IRCv3 batch and
// draft/chathistory).
func isOld(l line, batches map[string]string) bool {
	ref := l.tags["batch"]
	return ref != "" && strings.HasSuffix(batches[ref], "chathistory")
}

// place returns the chat of a message. Messages to channel operators only, or to others, are ignored.
func place(target, me string) (channels.Chat, bool) {
	if fold(target) == fold(me) {
		return channels.Chat{}, true
	}
	if target == "" || !strings.ContainsAny(target[:1], chanTypes) {
		return channels.Chat{}, false
	}
	return channels.Chat{ID: fold(target), Group: fold(target), Title: target}, true
}

// person returns the author of a line: the account that the server reports. Without an account, a nick
// identifies a person only with trust_nicks. Otherwise the author is somebody unknown in a group, and nobody
// in a private chat.
func (s *session) person(l line, nick string, group bool) channels.Person {
	p := channels.Person{Name: nick}
	_, bot := l.tags["bot"]
	_, draft := l.tags["draft/bot"]
	p.Bot = bot || draft
	// With account-tag each line names its account; otherwise the recorded one is used.
	account := s.people.who[fold(nick)]
	if s.caps["account-tag"] {
		account = l.tags["account"]
	}
	switch {
	case accountForm().MatchString("$" + account):
		p.ID = "$" + fold(account)
		s.people.wrote(p.ID, nick)
	case s.ch.cfg.TrustNicks && nickForm().MatchString(nick):
		p.ID = fold(nick)
	case group:
		p.ID = "~" + fold(nick) // no list accepts this form
	}
	return p
}

// id returns the server's message id. Without one it makes an id from the time, the sender and the text, so
// that the same line from the history has the same id, if it has a time.
func (s *session) id(l line, nick string) string {
	if id := l.tags["msgid"]; id != "" {
		return id
	}
	at := l.tags["time"]
	if at == "" {
		s.count++
		at = fmt.Sprint(s.ch.clock.Wall().UnixNano(), "/", s.count)
	}
	// The parts are separated, so that different lines cannot give the same input.
	sum := sha256.Sum256([]byte(strings.Join([]string{at, nick, l.param(0), l.param(1)}, "\x00")))
	return hex.EncodeToString(sum[:16])
}

// plainText returns a text without formatting. Of client-to-client messages (CTCP) only actions are read; an
// action never begins a command.
func plainText(text, nick string) (string, bool) {
	if rest, ok := strings.CutPrefix(text, "\x01"); ok {
		action, ok := strings.CutPrefix(strings.TrimSuffix(rest, "\x01"), "ACTION ")
		if !ok {
			return "", false
		}
		text = "* " + nick + " " + action
	}
	return unformatted(text), true
}

// unformatted removes the codes for colours and styles (modern.ircdocs.horse, "Formatting"), and other
// control characters.
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

// coloured removes the colours at the beginning of a text: one, or two with a comma between them.
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

// withoutMention removes one of the nicks from the beginning of a text, and reports whether the text contains one as
// a separate word.
func withoutMention(text string, nicks ...string) (rest string, yes bool) {
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
			if i > 0 && nickCharacter(before) || at < len(low) && nickCharacter(after) {
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

// nickCharacter reports whether a character next to a nick makes it part of another word.
func nickCharacter(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("[]\\^_{|}`-", r)
}

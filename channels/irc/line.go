package irc

import (
	"strings"
	"time"
)

// line is one message of the protocol (modern.ircdocs.horse, "Client-to-Server Protocol Structure"; IRCv3
// message-tags).
type line struct {
	tags    map[string]string
	source  string // a server's name, or nick!user@host
	command string // upper case, or three digits
	params  []string
}

// unescape decodes tag values (IRCv3 message-tags, "Escaping values").
var unescape = strings.NewReplacer(`\:`, ";", `\s`, " ", `\\`, `\`, `\r`, "\r", `\n`, "\n", `\`, "")

// parse parses a line without its end. A line without a command is the zero line.
func parse(s string) line {
	var l line
	s = strings.TrimRight(s, "\r\n")
	if rest, ok := strings.CutPrefix(s, "@"); ok {
		var tags string
		tags, s, _ = strings.Cut(rest, " ")
		l.tags = map[string]string{}
		for tag := range strings.SplitSeq(tags, ";") {
			key, value, _ := strings.Cut(tag, "=")
			l.tags[key] = unescape.Replace(value)
		}
		s = strings.TrimLeft(s, " ")
	}
	if rest, ok := strings.CutPrefix(s, ":"); ok {
		l.source, s, _ = strings.Cut(rest, " ")
	}
	for s = strings.TrimLeft(s, " "); s != ""; s = strings.TrimLeft(s, " ") {
		if rest, ok := strings.CutPrefix(s, ":"); ok && l.command != "" {
			l.params = append(l.params, rest)
			break
		}
		var word string
		word, s, _ = strings.Cut(s, " ")
		if l.command == "" {
			l.command = strings.ToUpper(word)
		} else {
			l.params = append(l.params, word)
		}
	}
	return l
}

// param returns a parameter, "" if there are fewer.
func (l line) param(i int) string {
	if i < 0 || i >= len(l.params) {
		return ""
	}
	return l.params[i]
}

// last returns the last parameter, which in numerics is the explanation.
func (l line) last() string { return l.param(len(l.params) - 1) }

// nick returns the sender's nick; ok is false for a server.
func (l line) nick() (nick string, ok bool) {
	nick, _, ok = strings.Cut(l.source, "!")
	return nick, ok && nick != ""
}

// at returns when the server received the line, zero if unknown (IRCv3 server-time).
func (l line) at() time.Time {
	t, err := time.Parse(time.RFC3339Nano, l.tags["time"])
	if err != nil {
		return time.Time{}
	}
	return t
}

// stamp formats a time for the history commands (IRCv3 draft/chathistory).
func stamp(t time.Time) string { return "timestamp=" + t.UTC().Format("2006-01-02T15:04:05.000Z") }

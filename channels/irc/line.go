package irc

import (
	"strings"
	"time"
)

// line is one message of the protocol (modern.ircdocs.horse, "Client-to-Server Protocol Structure"; IRCv3 message-tags).
type line struct {
	tags    map[string]string
	source  string // a server's name, or nick!user@host
	command string // in upper case, or three digits
	params  []string
}

var unescape = strings.NewReplacer(`\:`, ";", `\s`, " ", `\\`, `\`, `\r`, "\r", `\n`, "\n", `\`, "")

// parse reads a line without its end. What has no command is the zero line.
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

// param is a parameter, "" where there are not so many.
func (l line) param(i int) string {
	if i < 0 || i >= len(l.params) {
		return ""
	}
	return l.params[i]
}

// last is the last parameter, which is where numerics say in words what is the matter.
func (l line) last() string { return l.param(len(l.params) - 1) }

// nick is who sent it; ok is false for a server.
func (l line) nick() (nick string, ok bool) {
	nick, _, ok = strings.Cut(l.source, "!")
	return nick, ok && nick != ""
}

// at is when the server got it, zero when it does not say (IRCv3 server-time).
func (l line) at() time.Time {
	t, err := time.Parse(time.RFC3339Nano, l.tags["time"])
	if err != nil {
		return time.Time{}
	}
	return t
}

// stamp is a time as the history's selectors write it.
func stamp(t time.Time) string { return "timestamp=" + t.UTC().Format("2006-01-02T15:04:05.000Z") }

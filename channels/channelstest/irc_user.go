package channelstest

import (
	"encoding/base64"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ircUser is one connection of hob's.
type ircUser struct {
	f          *IRC
	conn       net.Conn
	nick       string
	user       bool // USER has come
	caps       map[string]bool
	negotiates bool
	registered bool
	entered    bool // has asked and got an answer after that
	secret     string
	joined     map[string]bool
	watched    map[string]bool // nicks that it watches (IRCv3 monitor)
}

// raw sends one line. The fake is locked.
func (u *ircUser) raw(line string) {
	if u.f.silent {
		return
	}
	_ = u.conn.SetWriteDeadline(time.Now().Add(5 * time.Second))
	_, _ = u.conn.Write([]byte(line + "\r\n")) // the connection may have ended
}

func (u *ircUser) numeric(number, rest string) {
	nick := u.nick
	if nick == "" {
		nick = "*"
	}
	u.raw(fmt.Sprintf(":irc.test %s %s %s", number, nick, rest))
}

// say sends something said, with the tags that were asked for.
func (u *ircUser) say(l ircLine, batch string) {
	var tags []string
	add := func(cap, tag, value string) {
		if u.caps[cap] && value != "" {
			tags = append(tags, tag+"="+value)
		}
	}
	add("batch", "batch", batch)
	add("message-tags", "msgid", l.id)
	add("server-time", "time", l.at.UTC().Format("2006-01-02T15:04:05.000Z"))
	add("account-tag", "account", l.account)
	if u.caps["message-tags"] && l.tags != "" {
		tags = append(tags, l.tags)
	}
	head := ""
	if len(tags) > 0 {
		head = "@" + strings.Join(tags, ";") + " "
	}
	u.raw(fmt.Sprintf("%s:%s %s %s :%s", head, l.source, l.command, l.target, l.text))
}

// line serves one line; false ends the connection.
func (u *ircUser) line(text string) bool {
	f := u.f
	f.mu.Lock()
	defer f.mu.Unlock()
	defer f.happened()
	command, rest, _ := strings.Cut(text, " ")
	words := strings.Fields(rest)
	_, last, ok := strings.Cut(" "+rest, " :")
	if !ok && len(words) > 0 {
		last = words[len(words)-1]
	}
	f.calls[command]++
	switch command {
	case "CAP":
		u.capability(words, last)
	case "AUTHENTICATE":
		u.authenticate(last)
	case "NICK":
		u.name(last)
	case "USER":
		u.user = true
	case "PING":
		u.entered = u.entered || u.registered
		u.raw(":irc.test PONG irc.test :" + last)
	case "QUIT":
		u.f.gone(u) // before anybody can know of it
		u.raw("ERROR :Closing link")
		return false
	case "JOIN":
		u.join(last)
	case "USERHOST":
		u.numeric("302", fmt.Sprintf(":%s=+~hob@hob.test ", u.nick))
	case "WHOIS":
		u.whois(last)
	case "MONITOR":
		u.monitor(words)
	case "CHATHISTORY":
		u.history(words)
	case "PRIVMSG":
		return u.privmsg(words[0], last)
	case "PASS", "MODE", "WHO", "PONG":
	default:
		u.numeric("421", command+" :Unknown command")
	}
	return u.welcome()
}

// welcome registers a connection that has said all that is needed.
func (u *ircUser) welcome() bool {
	if u.registered || u.negotiates || u.nick == "" || !u.user {
		return true
	}
	if u.f.banned != "" {
		u.numeric(u.f.banned, ":You are not wanted here")
		u.raw("ERROR :Closing link: not wanted")
		return false
	}
	u.registered = true
	if u.f.opts.ForceNick && u.secret != "" {
		u.nick = u.f.opts.Account
	}
	u.numeric("001", ":Welcome")
	supports := u.f.opts.Supports
	if slices.Contains(u.f.opts.Caps, "extended-monitor") {
		supports += " MONITOR=100"
	}
	u.numeric("005", "CHANTYPES=#& CASEMAPPING=ascii CHATHISTORY=3 "+supports+" :are supported by this server")
	u.numeric("422", ":There is no message of the day")
	return true
}

func (u *ircUser) capability(words []string, last string) {
	switch {
	case len(u.f.opts.Caps) == 0:
		u.numeric("421", "CAP :Unknown command")
	case words[0] == "LS":
		u.negotiates = true
		half := len(u.f.opts.Caps) / 2
		u.raw(":irc.test CAP * LS * :" + strings.Join(u.f.opts.Caps[:half], " ")) // in two lines, as 302 allows
		u.raw(":irc.test CAP * LS :" + strings.Join(u.f.opts.Caps[half:], " "))
	case words[0] == "REQ":
		for _, name := range strings.Fields(last) {
			u.caps[name] = true
		}
		u.raw(":irc.test CAP * ACK :" + last)
	case words[0] == "END":
		u.negotiates = false
	}
}

func (u *ircUser) authenticate(piece string) {
	u.f.auth = append(u.f.auth, piece)
	if piece == "PLAIN" || piece == "EXTERNAL" {
		u.raw("AUTHENTICATE +")
		return
	}
	if piece != "+" {
		u.secret += piece
	}
	if len(piece) == 400 {
		return
	}
	got, err := base64.StdEncoding.DecodeString(u.secret)
	want := u.f.opts.Account + "\x00" + u.f.opts.Account + "\x00" + u.f.opts.Password
	if err != nil || string(got) != want && u.secret != "" {
		u.numeric("904", ":SASL authentication failed")
		return
	}
	u.numeric("900", "hob!hob@hob.test "+u.f.opts.Account+" :You are now logged in")
	u.numeric("903", ":SASL authentication successful")
}

func (u *ircUser) name(nick string) {
	taken := slices.ContainsFunc(u.f.users, func(o *ircUser) bool { return o != u && strings.EqualFold(o.nick, nick) })
	if u.registered && u.f.opts.ForceNick {
		u.numeric("433", nick+" :You must use your account name as your nickname")
		return
	}
	if _, person := u.f.people[nick]; taken || person {
		u.numeric("433", nick+" :Nickname is already in use")
		return
	}
	if u.registered {
		u.raw(":" + u.source() + " NICK :" + nick)
	}
	u.nick = nick
	u.f.own[strings.ToLower(nick)] = true
}

func (u *ircUser) source() string { return u.nick + "!~hob@hob.test" }

func (u *ircUser) join(list string) {
	for name := range strings.SplitSeq(list, ",") {
		if strings.Contains(name, "closed") {
			u.numeric("473", name+" :Cannot join channel (+i)")
			continue
		}
		u.joined[strings.ToLower(name)] = true
		u.raw(":" + u.source() + " JOIN " + name)
		account, _, _ := strings.Cut(u.f.opts.Account, " ")
		u.f.happens(ircLine{source: u.source(), account: account, command: "JOIN", target: name})
		u.f.forgetJoins()
	}
}

// replay sends a line of the history. With draft/event-playback (IRCv3) other lines than messages are replayed
// unchanged; without it they become messages of a pseudo-client, as in ergo.
func (u *ircUser) replay(l ircLine, batch string) {
	if slices.Contains([]string{"PRIVMSG", "NOTICE", "REDACT"}, l.command) || u.caps["draft/event-playback"] {
		u.say(l, batch)
		return
	}
	nick, _, _ := strings.Cut(l.source, "!")
	words := map[string]string{
		"PART": nick + " left the channel (" + l.text + ")", "TOPIC": nick + " set the channel topic to: " + l.text,
		"KICK": nick + " kicked " + l.text, "MODE": nick + " set channel modes: " + l.text,
	}
	text := words[l.command]
	if l.command == "JOIN" && l.account != "" {
		text = nick + " [account: " + l.account + "] joined the channel"
	} else if l.command == "JOIN" {
		text = nick + " joined the channel"
	}
	u.say(ircLine{id: "_" + l.id, source: "HistServ!HistServ@localhost", command: "PRIVMSG", target: l.target, text: text, at: l.at}, batch)
}

func (u *ircUser) whois(nick string) {
	account, ok := u.f.people[nick]
	if !ok {
		u.numeric("401", nick+" :No such nick")
	} else {
		u.numeric("311", nick+" u people.test * :"+nick)
		if account != "" {
			u.numeric("330", nick+" "+account+" :is logged in as")
		}
	}
	u.numeric("318", nick+" :End of /WHOIS list")
}

// monitor serves "MONITOR + NICK".
func (u *ircUser) monitor(words []string) {
	if !slices.Contains(u.f.opts.Caps, "extended-monitor") {
		u.numeric("421", "MONITOR :Unknown command")
		return
	}
	u.watched[strings.ToLower(words[1])] = true
	u.presence(words[1])
}

func (u *ircUser) watches(nick string) bool { return u.watched[strings.ToLower(nick)] }

// presence tells whether somebody is there.
func (u *ircUser) presence(nick string) {
	if _, here := u.f.people[nick]; here {
		u.numeric("730", ":"+nick+"!u@people.test")
		return
	}
	u.numeric("731", ":"+nick)
}

// privmsg accepts a message from hob; false ends the connection.
func (u *ircUser) privmsg(target, text string) bool {
	var fault IRCFault
	if len(u.f.faults) > 0 {
		fault, u.f.faults = u.f.faults[0], u.f.faults[1:]
	}
	if fault.Numeric == "400" { // it names the command
		target = "PRIVMSG"
	}
	if fault.Numeric != "" {
		u.numeric(fault.Numeric, target+" :It is not taken")
		return true
	}
	if strings.HasSuffix(target, "nobody") {
		u.numeric("401", target+" :No such nick")
		return true
	}
	if fault.Cut == "before" {
		return false
	}
	whole := ":" + u.source() + " PRIVMSG " + target + " :" + text + "\r\n"
	if cut := len(whole) - 512; cut > 0 {
		text = text[:len(text)-cut] // as real servers do
	}
	u.f.sent = append(u.f.sent, IRCSent{Target: target, Text: text})
	u.f.next++
	l := ircLine{id: fmt.Sprintf("own-%d", u.f.next), source: u.source(), command: "PRIVMSG", target: target, text: text, at: time.Now()}
	u.f.said = append(u.f.said, l)
	u.f.spread(l, u)
	if u.caps["echo-message"] {
		u.say(l, "")
	}
	return fault.Cut == ""
}

// history serves TARGETS and AFTER.
func (u *ircUser) history(words []string) {
	if !u.caps["draft/chathistory"] {
		u.numeric("421", "CHATHISTORY :Unknown command")
		return
	}
	ref := fmt.Sprintf("b%d", u.f.calls["CHATHISTORY"])
	if words[0] == "TARGETS" {
		since, _ := u.since(words[1])
		u.raw(":irc.test BATCH +" + ref + " draft/chathistory-targets")
		seen := map[string]bool{}
		for _, l := range u.f.said {
			nick, _, _ := strings.Cut(l.source, "!")
			if l.at.After(since) && u.f.own[strings.ToLower(l.target)] && !seen[nick] {
				seen[nick] = true
				u.raw(fmt.Sprintf("@batch=%s CHATHISTORY TARGETS %s %s", ref, nick, l.at.UTC().Format("2006-01-02T15:04:05.000Z")))
			}
		}
		u.raw(":irc.test BATCH -" + ref)
		return
	}
	since, behind := u.since(words[2])
	limit, err := strconv.Atoi(words[3])
	if err != nil {
		limit = 0
	}
	u.raw(":irc.test BATCH +" + ref + " chathistory " + words[1])
	for i, l := range u.f.said {
		nick, _, _ := strings.Cut(l.source, "!")
		of := strings.EqualFold(l.target, words[1]) || u.f.own[strings.ToLower(l.target)] && strings.EqualFold(nick, words[1])
		if limit == 0 || !of || i < behind || !l.at.After(since) {
			continue
		}
		limit--
		u.replay(l, ref)
	}
	u.raw(":irc.test BATCH -" + ref)
}

// since reads a selector of the history: a time, or the position after a message.
func (u *ircUser) since(selector string) (at time.Time, behind int) {
	key, value, _ := strings.Cut(selector, "=")
	if key == "msgid" {
		value = strings.TrimPrefix(value, "_")
		return at, 1 + slices.IndexFunc(u.f.said, func(l ircLine) bool { return l.id == value })
	}
	at, err := time.Parse(time.RFC3339Nano, value)
	if err != nil {
		return time.Now(), 0
	}
	return at, 0
}

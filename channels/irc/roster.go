package irc

import (
	"slices"
	"strings"
	"time"
)

// Limits of the records.
const (
	maxPeople  = 100_000          // remembered nicks: a server could send any number
	maxWatched = 100              // watched nicks; most networks allow that many
	fresh      = 10 * time.Second // validity of an answer about a nick that is not watched
)

// roster records which nick is logged in to which account. The keys of all maps are folded names.
type roster struct {
	who     map[string]string // account of each nick, if the server reports every change
	seen    map[string]string // the nick under which an account, like "$sam", last wrote
	reports map[string]report
	watched map[string]bool // nicks of which the server reports when they leave or change their account
}

// report is what the server said about one nick, in an answer to WHOIS or in a line from that nick.
type report struct {
	nick, account string
	at            time.Time
}

// newRoster makes an empty roster.
func newRoster() roster {
	return roster{who: map[string]string{}, seen: map[string]string{}, reports: map[string]report{}, watched: map[string]bool{}}
}

// named reports whether a name is an account: "", "*" and "0" mean none.
func named(account string) bool { return account != "" && account != "*" && account != "0" }

// set records the account of a nick.
func (r roster) set(nick, account string) {
	delete(r.who, fold(nick))
	if named(account) {
		if len(r.who) >= maxPeople {
			clear(r.who) // forgetting people is safe: they are only unknown for a while
		}
		r.who[fold(nick)] = account
	}
}

// setReport records what the server says now about a nick.
func (r roster) setReport(nick, account string, now time.Time) {
	delete(r.reports, fold(nick))
	if named(account) {
		if len(r.reports) >= maxQueue {
			clear(r.reports)
		}
		r.reports[fold(nick)] = report{nick, account, now}
	}
}

// wrote records under which nick an account wrote.
func (r roster) wrote(account, nick string) {
	if len(r.seen) >= maxQueue {
		clear(r.seen)
	}
	r.seen[account] = nick
}

// candidates returns the nicks that may be logged in to an account: the last one used, and the account's own
// name.
func (r roster) candidates(account string) []string {
	var nicks []string
	if nick := r.seen[fold(account)]; nick != "" {
		nicks = append(nicks, nick)
	}
	if name := strings.TrimPrefix(account, "$"); nickForm().MatchString(name) && !slices.ContainsFunc(nicks, func(n string) bool { return fold(n) == fold(name) }) {
		nicks = append(nicks, name)
	}
	return nicks
}

// nickOf returns the nick under which an account is logged in now, "" if unknown. It needs a report that the
// server would have corrected, or an answer within moments.
func (r roster) nickOf(account string, now time.Time, moments time.Duration) string {
	// Known nicks first; their reports are the newest.
	for _, nick := range r.candidates(account) {
		if "$"+fold(r.who[fold(nick)]) == fold(account) {
			return nick
		}
		v := r.reports[fold(nick)]
		if r.confirmed(nick, account) && (r.watched[fold(nick)] || now.Sub(v.at).Abs() < moments) {
			return v.nick
		}
	}
	// Otherwise any nick with this account; the smallest one, so that the choice is stable.
	first := ""
	for nick, name := range r.who {
		if "$"+fold(name) == fold(account) && (first == "" || nick < first) {
			first = nick
		}
	}
	return first
}

// confirmed reports whether the server's last word is that the nick belongs to the account, however old.
func (r roster) confirmed(nick, account string) bool {
	return "$"+fold(r.who[fold(nick)]) == fold(account) || "$"+fold(r.reports[fold(nick)].account) == fold(account)
}

// note follows the accounts of people in hob's channels (IRCv3 extended-join and account-notify, WHOX). It
// forgets a nick when the server stops reporting about it. nick is the sender of the line, me is hob's nick.
func (r roster) note(l line, nick, me string) {
	switch l.command {
	case "JOIN":
		r.set(nick, l.param(1))
	case "ACCOUNT":
		r.set(nick, l.param(0))
	// The answer to hob's own WHO, recognised by its token.
	case "354": // RPL_WHOSPCRPL, as asked for with %tna
		if l.param(1) == whoToken {
			r.set(l.param(2), l.param(3))
		}
	case "NICK":
		account := r.who[fold(nick)]
		delete(r.who, fold(nick))
		r.set(l.param(0), account)
	case "QUIT":
		delete(r.who, fold(nick))
	case "PART":
		r.left(nick, me)
	case "KICK":
		r.left(l.param(1), me)
	}
}

// left forgets a nick that left a channel; if hob left, everybody.
func (r roster) left(nick, me string) {
	delete(r.who, fold(nick))
	if fold(nick) == fold(me) {
		clear(r.who) // without a common channel the server reports nothing about them
	}
}

// noteReports records answers about single nicks (WHOIS, IRCv3 monitor and extended-monitor, and account-tag
// if tells is set). It forgets them when somebody else may have the nick. nick is the sender of the line.
func (r roster) noteReports(l line, nick string, tells bool, now time.Time) {
	switch l.command {
	case "330": // RPL_WHOISACCOUNT
		r.setReport(l.param(1), l.param(2), now)
	case "730", "731": // RPL_MONONLINE, RPL_MONOFFLINE
		for who := range strings.SplitSeq(l.last(), ",") {
			name, _, _ := strings.Cut(who, "!")
			r.gone(name, l.command == "731")
			if len(r.watched) < maxWatched {
				r.watched[fold(name)] = true
			}
		}
	case "401": // ERR_NOSUCHNICK
		r.gone(l.param(1), true)
	case "ACCOUNT":
		r.setReport(nick, l.param(0), now)
	case "PRIVMSG", "NOTICE":
		if tells {
			r.setReport(nick, l.tags["account"], now)
		}
	case "NICK":
		r.gone(nick, false) // note handles people in hob's channels
		r.gone(l.param(0), false)
	case "JOIN", "QUIT":
		r.gone(nick, false)
	}
}

// gone forgets what is known about a nick that may have a new user; all includes what note follows.
func (r roster) gone(nick string, all bool) {
	delete(r.reports, fold(nick))
	if all {
		delete(r.who, fold(nick))
	}
}

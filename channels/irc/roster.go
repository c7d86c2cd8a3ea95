package irc

import (
	"slices"
	"strings"
	"time"
)

const (
	maxPeople  = 100_000          // nicks known at once: a server may speak of more than there are
	maxWatched = 100              // nicks that the server is asked to watch; networks allow as many and more
	fresh      = 10 * time.Second // for which what the server has said about a nick counts that it does not watch
)

// roster knows which nick is logged in to which account. All maps go by folded names.
type roster struct {
	who     map[string]string // the accounts of nicks, as far as the server tells of each change
	seen    map[string]string // the nick under which an account, as "$sam", last wrote
	vouched map[string]voucher
	watched map[string]bool // nicks of which the server tells when they are gone, and when they change their account
}

// voucher is what the server has said about one nick: in an answer to WHOIS, or with a line of that person's.
type voucher struct {
	nick, account string
	at            time.Time
}

func newRoster() roster {
	return roster{who: map[string]string{}, seen: map[string]string{}, vouched: map[string]voucher{}, watched: map[string]bool{}}
}

// named tells whether a name is an account's: "", "*" and "0" are none.
func named(account string) bool { return account != "" && account != "*" && account != "0" }

// set keeps the account of a nick.
func (r roster) set(nick, account string) {
	delete(r.who, fold(nick))
	if named(account) {
		if len(r.who) >= maxPeople {
			clear(r.who) // who is nobody for a while cannot be somebody else
		}
		r.who[fold(nick)] = account
	}
}

// vouch keeps what the server says now about a nick.
func (r roster) vouch(nick, account string, now time.Time) {
	delete(r.vouched, fold(nick))
	if named(account) {
		if len(r.vouched) >= maxQueue {
			clear(r.vouched)
		}
		r.vouched[fold(nick)] = voucher{nick, account, now}
	}
}

// wrote keeps under which nick an account wrote.
func (r roster) wrote(account, nick string) {
	if len(r.seen) >= maxQueue {
		clear(r.seen)
	}
	r.seen[account] = nick
}

// candidates are the nicks that an account may be logged in under: where it last wrote, and its own name.
func (r roster) candidates(account string) []string {
	var nicks []string
	if nick := r.seen[fold(account)]; nick != "" {
		nicks = append(nicks, nick)
	}
	if name := strings.TrimPrefix(account, "$"); nickForm.MatchString(name) && !slices.ContainsFunc(nicks, func(n string) bool { return fold(n) == fold(name) }) {
		nicks = append(nicks, name)
	}
	return nicks
}

// behind is the nick under which an account is logged in now: as the server has said and would have taken back, or has said within moments; ""
// where that is not known.
func (r roster) behind(account string, now time.Time, moments time.Duration) string {
	for _, nick := range r.candidates(account) {
		if "$"+fold(r.who[fold(nick)]) == fold(account) {
			return nick
		}
		v := r.vouched[fold(nick)]
		if r.stands(nick, account) && (r.watched[fold(nick)] || now.Sub(v.at).Abs() < moments) {
			return v.nick
		}
	}
	first := ""
	for nick, name := range r.who {
		if "$"+fold(name) == fold(account) && (first == "" || nick < first) {
			first = nick
		}
	}
	return first
}

// stands tells whether the server has said that a nick is an account's, however long ago, and nothing else since.
func (r roster) stands(nick, account string) bool {
	return "$"+fold(r.who[fold(nick)]) == fold(account) || "$"+fold(r.vouched[fold(nick)].account) == fold(account)
}

// note follows the accounts of people in the same channels (IRCv3 extended-join and account-notify, WHOX). It forgets a nick as soon
// as the server no longer tells what becomes of it. nick is who sent the line, me is hob's.
func (r roster) note(l line, nick, me string) {
	switch l.command {
	case "JOIN":
		r.set(nick, l.param(1))
	case "ACCOUNT":
		r.set(nick, l.param(0))
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

func (r roster) left(nick, me string) {
	delete(r.who, fold(nick))
	if fold(nick) == fold(me) {
		clear(r.who) // they may have been in no other channel
	}
}

// noteVouched keeps what the server says about single nicks (WHOIS, IRCv3 monitor and extended-monitor, and account-tag where tells says
// so), and forgets it as soon as somebody else may have the nick. nick is who sent the line.
func (r roster) noteVouched(l line, nick string, tells bool, now time.Time) {
	switch l.command {
	case "330": // RPL_WHOISACCOUNT
		r.vouch(l.param(1), l.param(2), now)
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
		r.vouch(nick, l.param(0), now)
	case "PRIVMSG", "NOTICE":
		if tells {
			r.vouch(nick, l.tags["account"], now)
		}
	case "NICK":
		r.gone(nick, false) // what it means for those in the same channels, note knows
		r.gone(l.param(0), false)
	case "JOIN", "QUIT":
		r.gone(nick, false)
	}
}

// gone forgets what was said about a nick that somebody else may have now: all of it, or but for what note follows.
func (r roster) gone(nick string, all bool) {
	delete(r.vouched, fold(nick))
	if all {
		delete(r.who, fold(nick))
	}
}

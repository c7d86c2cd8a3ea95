package irc

// maxPeople is how many nicks are known at once: a server may speak of more than there are.
const maxPeople = 100_000

// roster knows which nick is logged in to which account. Both maps go by folded names.
type roster struct {
	who  map[string]string // the accounts of nicks, as far as the server tells of each change
	seen map[string]string // the nick under which an account, as "$sam", last wrote
}

func newRoster() roster {
	return roster{who: map[string]string{}, seen: map[string]string{}}
}

// set keeps the account of a nick; "", "*" and "0" are none.
func (r roster) set(nick, account string) {
	delete(r.who, fold(nick))
	if account != "" && account != "*" && account != "0" {
		if len(r.who) >= maxPeople {
			clear(r.who) // who is nobody for a while cannot be somebody else
		}
		r.who[fold(nick)] = account
	}
}

// wrote keeps under which nick an account wrote.
func (r roster) wrote(account, nick string) {
	if len(r.seen) >= maxQueue {
		clear(r.seen)
	}
	r.seen[account] = nick
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

package irc

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/channels"
)

// registerTime limits the registration: some servers wait for an ident answer first.
const registerTime = 2 * time.Minute

// wanted are the capabilities that hob uses (https://ircv3.net/irc), except sasl.
func wanted() []string {
	return []string{
		"message-tags", "server-time", "account-tag", "account-notify", "extended-join", "batch", "echo-message",
		"extended-monitor", "draft/extended-monitor", "draft/chathistory", "draft/event-playback", "draft/message-redaction",
	}
}

// registration is the state of a registration.
type registration struct {
	session  *session
	offered  map[string]bool
	loggedIn bool
}

// register registers the connection: capabilities, log-in, nick (IRCv3 "Capability Negotiation" and
// sasl-3.2).
func (s *session) register() error {
	r := &registration{session: s, offered: map[string]bool{}}
	// CAP first holds the registration open until CAP END.
	opening := []string{"CAP LS 302"}
	if s.ch.cfg.ServerPassword != "" {
		opening = append(opening, "PASS :"+s.ch.cfg.ServerPassword)
	}
	if err := s.write(append(opening, "NICK "+s.nick, "USER hob 0 * :hob")...); err != nil {
		return err
	}
	for began := s.ch.clock.Mono(); ; {
		l, err := s.read()
		if err != nil {
			return err
		}
		if s.ch.clock.Mono()-began > registerTime {
			return fmt.Errorf("%s did not complete the registration within %s", s.ch.cfg.Server, registerTime)
		}
		if done, err := r.step(l); done || err != nil {
			return err
		}
	}
}

// step answers one line; done reports that the registration is complete.
func (r *registration) step(l line) (done bool, err error) {
	switch l.command {
	case "PING":
		return false, r.session.write("PONG :" + l.last())
	case "CAP":
		return false, r.capability(l)
	case "AUTHENTICATE":
		return false, r.authenticate()
	// The log-in succeeded, so the negotiation can end.
	case "903": // RPL_SASLSUCCESS
		r.loggedIn = true
		return false, r.session.write("CAP END")
	case "902", "904", "905", "906", "908":
		return false, channels.Refused(fmt.Errorf("the server refuses the log-in as %s (%s); check account, password and certificate", r.session.ch.cfg.login(), l.last()))
	case "433", "436", "437": // the nick is taken or temporarily unavailable
		r.session.nick += "_"
		if len(r.session.nick) > 50 {
			return false, fmt.Errorf("no nick like %s is free", r.session.ch.cfg.Nick)
		}
		return false, r.session.write("NICK " + r.session.nick)
	case "432":
		return false, channels.Refused(fmt.Errorf("the server does not accept the nick %s (%s); choose another one as nick", r.session.nick, l.last()))
	case "464", "465", "ERROR":
		return false, fatal(l)
	// The server may have changed the nick, for example to that of the account.
	case "001":
		r.session.nick = l.param(0)
		// Without the log-in, hob would not be recognised by others and might be banned; so it does not stay.
		if r.needsLogin() && !r.loggedIn {
			return false, errNoSASL(r.session)
		}
	case "376", "422": // end of the message of the day, or none
		return true, nil
	}
	r.session.note(l)
	return false, nil
}

// needsLogin reports whether the config has credentials.
func (r *registration) needsLogin() bool {
	return r.session.ch.cfg.Password != "" || r.session.ch.cfg.Certificate != ""
}

// errNoSASL is a lasting refusal: only the owner can change the config or the server.
func errNoSASL(s *session) error {
	return channels.Refused(fmt.Errorf("%s offers no log-in with SASL %s; remove password and certificate, or choose another server", s.ch.cfg.Server, s.ch.cfg.mechanism()))
}

// capability handles one step of the negotiation.
func (r *registration) capability(l line) error {
	list := strings.Fields(l.last())
	switch strings.ToUpper(l.param(1)) {
	case "LS":
		// A list of mechanisms follows "sasl=" since version 302.
		for _, word := range list {
			name, value, _ := strings.Cut(word, "=")
			r.offered[name] = name != "sasl" || value == "" || slices.Contains(strings.Split(value, ","), r.session.ch.cfg.mechanism())
		}
		if l.param(2) == "*" {
			return nil // more lines follow
		}
		return r.request()
	case "ACK":
		for _, name := range list {
			r.session.caps[name] = true
		}
		// A config with credentials must not continue without the log-in.
		if r.needsLogin() {
			return r.session.write("AUTHENTICATE " + r.session.ch.cfg.mechanism())
		}
		return r.session.write("CAP END")
	case "NAK":
		if r.needsLogin() {
			return errNoSASL(r.session)
		}
		return r.session.write("CAP END")
	}
	return nil
}

// request asks for the offered capabilities that hob uses. The server accepts or refuses them together.
func (r *registration) request() error {
	list := slices.DeleteFunc(wanted(), func(name string) bool { return !r.offered[name] })
	if r.needsLogin() {
		if !r.offered["sasl"] {
			return errNoSASL(r.session)
		}
		list = append(list, "sasl")
	}
	if len(list) == 0 {
		return r.session.write("CAP END")
	}
	return r.session.write("CAP REQ :" + strings.Join(list, " "))
}

// mechanism returns the SASL mechanism.
func (c *Config) mechanism() string {
	if c.Password == "" {
		return "EXTERNAL" // RFC 4422, appendix A
	}
	return "PLAIN" // RFC 4616
}

// authenticate sends the credentials in pieces of 400 bytes; a shorter piece is the last one (IRCv3
// sasl-3.1).
func (r *registration) authenticate() error {
	c := r.session.ch.cfg
	secret := ""
	if c.mechanism() == "PLAIN" {
		secret = c.login() + "\x00" + c.login() + "\x00" + c.Password
	}
	return r.session.write(saslLines(secret)...)
}

// saslPiece is the length of one piece of the credentials.
const saslPiece = 400

// saslLines encodes credentials. A last piece of full length is followed by an empty one, "+".
func saslLines(secret string) []string {
	text := base64.StdEncoding.EncodeToString([]byte(secret))
	var lines []string
	for len(text) >= saslPiece {
		lines = append(lines, "AUTHENTICATE "+text[:saslPiece])
		text = text[saslPiece:]
	}
	text = cmp.Or(text, "+")
	return append(lines, "AUTHENTICATE "+text)
}

// fatal explains why the server ends the connection. Bans and wrong passwords last; a connection limit
// passes.
func fatal(l line) error {
	switch l.command {
	case "464":
		return channels.Refused(fmt.Errorf("the server refuses its password (%s); check server_password", l.last()))
	case "465":
		return channels.Refused(fmt.Errorf("the server has banned hob (%s); ask those who run the network", l.last()))
	}
	err := fmt.Errorf("the server ends the connection: %s", l.last())
	if lower := strings.ToLower(l.last()); strings.Contains(lower, "throttl") || strings.Contains(lower, "too fast") || strings.Contains(lower, "k-line") {
		return &channels.RetryAfter{After: time.Minute, Err: err}
	}
	if l.last() == "" {
		return errors.New("the server ends the connection without saying why")
	}
	return err
}

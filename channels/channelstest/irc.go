package channelstest

import (
	"bufio"
	"cmp"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"log/slog"
	"math/big"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"hob/daemon/sys"
)

// IRCFault replaces the normal handling of one PRIVMSG.
type IRCFault struct {
	Numeric string // refuse with this numeric
	Cut     string // "before" drops the connection before the message takes effect, "after" after it
}

// IRCOptions select the kind of server.
type IRCOptions struct {
	Caps     []string // offered capabilities
	Plain    bool     // without TLS
	Account  string   // account for SASL
	Password string   // its password
	Supports string   // more tokens of RPL_ISUPPORT

	ForceNick bool // logged-in users get their account as nick, and can share it (ergo's force-nick-equals-account and multiclient)
}

// IRCModern are all capabilities that hob uses.
func IRCModern() []string {
	return []string{
		"message-tags", "server-time", "account-tag", "account-notify", "extended-join", "extended-monitor", "batch", "echo-message",
		"draft/chathistory", "draft/event-playback", "draft/message-redaction", "sasl=PLAIN,EXTERNAL", "multi-prefix",
	}
}

// IRCSent is a line that hob has sent.
type IRCSent struct{ Target, Text string }

// IRC is a fake IRC server on a real socket (https://modern.ircdocs.horse and IRCv3). The people on it are
// simulated; only hob connects.
type IRC struct {
	opts  IRCOptions
	lis   net.Listener
	print string
	group *sys.Group

	mu      sync.Mutex
	users   []*ircUser
	people  map[string]string // nick to account
	own     map[string]bool   // all nicks that hob has had: they share a history, like an account
	said    []ircLine
	sent    []IRCSent
	faults  []IRCFault
	calls   map[string]int
	auth    []string // parameters of the log-in
	next    int
	silent  bool
	changed chan struct{}
	banned  string // numeric and text that refuse a registration
	closed  bool
}

// ircLine is a line of the history.
type ircLine struct {
	id, source, account, command, target, text string
	at                                         time.Time
	tags                                       string
}

// NewIRC starts a fake on a free port of the loopback interface.
func NewIRC(opts IRCOptions) (*IRC, error) {
	lis, err := listen("")
	if err != nil {
		return nil, err
	}
	return IRCOn(lis, opts)
}

// IRCOn is NewIRC with a listener.
func IRCOn(lis net.Listener, opts IRCOptions) (*IRC, error) {
	f := &IRC{
		opts: opts, lis: lis, people: map[string]string{}, own: map[string]bool{}, calls: map[string]int{}, changed: make(chan struct{}),
		group: sys.NewGroup(slog.New(slog.DiscardHandler), nil),
	}
	if !opts.Plain {
		cert, err := selfSigned()
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(cert.Certificate[0])
		f.print = hex.EncodeToString(sum[:])
		f.lis = tls.NewListener(lis, &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12, ClientAuth: tls.RequestClientCert})
	}
	f.group.Once("fake irc", f.accept)
	return f, nil
}

// selfSigned makes a self-signed certificate.
func selfSigned() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("make a key: %w", err)
	}
	form := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	raw, err := x509.CreateCertificate(rand.Reader, form, form, &key.PublicKey, key)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("make a certificate: %w", err)
	}
	return tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key}, nil
}

// Addr returns the address for the key server.
func (f *IRC) Addr() string { return f.lis.Addr().String() }

// Fingerprint returns the SHA-256 of the server's certificate.
func (f *IRC) Fingerprint() string { return f.print }

// Close ends the server and all connections.
func (f *IRC) Close() {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	_ = f.lis.Close() // the fake ends anyway
	f.Drop()
	f.group.Wait()
}

// Drop closes all connections.
func (f *IRC) Drop() {
	f.mu.Lock()
	users := f.users
	f.users = nil // at once, so that no caller takes a closed connection for hob's
	f.mu.Unlock()
	for _, u := range users {
		_ = u.conn.Close()
	}
}

// Silence makes the server accept everything and send nothing, like a half-open connection.
func (f *IRC) Silence() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.silent = true
}

// Refuse makes the server refuse registrations with a numeric and a text.
func (f *IRC) Refuse(numeric string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.banned = numeric
}

// Person adds a person to the network, or changes the account; "" for none.
func (f *IRC) Person(nick, account string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, here := f.people[nick]
	f.people[nick] = account
	for _, u := range f.users {
		switch {
		case !u.watches(nick):
		case !here:
			u.presence(nick)
		case u.caps["account-notify"] && u.caps["extended-monitor"]:
			u.raw(":" + nick + "!u@people.test ACCOUNT " + cmp.Or(account, "*"))
		}
	}
}

// Leave removes a person from the network.
func (f *IRC) Leave(nick string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.people, nick)
	for _, u := range f.users {
		if u.watches(nick) {
			u.presence(nick)
		}
	}
}

// Say sends a message to hob or to a channel. It returns the id of the message.
func (f *IRC) Say(nick, target, text string) string {
	return f.Write("PRIVMSG", nick, target, text, "")
}

// Write sends a line from a person; tags may be "". PRIVMSG and NOTICE are added to the history.
func (f *IRC) Write(command, nick, target, text, tags string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	l := f.happens(ircLine{source: nick + "!u@people.test", account: f.people[nick], command: command, target: target, text: text, tags: tags})
	f.spread(l, nil)
	return l.id
}

// happens adds a line to the history. The caller holds the lock.
func (f *IRC) happens(l ircLine) ircLine {
	f.next++
	l.id, l.at = fmt.Sprintf("id-%d", f.next), time.Now()
	f.said = append(f.said, l)
	return l
}

// maxJoins is how many joins the history keeps.
const maxJoins = 100

// forgetJoins removes the oldest joins from the history; messages stay. Real servers limit their history too.
// Without a limit, hob would read the joins of all its earlier connections before it takes a new message. The
// caller holds the lock.
func (f *IRC) forgetJoins() {
	surplus := -maxJoins
	for _, l := range f.said {
		if l.command == "JOIN" {
			surplus++
		}
	}
	f.said = slices.DeleteFunc(f.said, func(l ircLine) bool {
		old := l.command == "JOIN" && surplus > 0
		if old {
			surplus--
		}
		return old
	})
}

// Again delivers a message a second time.
func (f *IRC) Again(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, l := range f.said {
		if l.id == id {
			f.spread(l, nil)
			return
		}
	}
}

// Push sends a raw line to all connections.
func (f *IRC) Push(raw string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, u := range f.users {
		u.raw(raw)
	}
}

// Fail scripts the next messages that hob sends, one fault each.
func (f *IRC) Fail(faults ...IRCFault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults = append(f.faults, faults...)
}

// Sent returns the lines that hob has sent.
func (f *IRC) Sent() []IRCSent {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.sent)
}

// Calls returns how often hob sent a command.
func (f *IRC) Calls(command string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls[command]
}

// Auth returns the parameters of all AUTHENTICATE commands.
func (f *IRC) Auth() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.auth)
}

// Nicks returns the nicks of the registered connections.
func (f *IRC) Nicks() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var list []string
	for _, u := range f.users {
		if u.registered {
			list = append(list, u.nick)
		}
	}
	return list
}

// Listening waits until hob is connected, or ctx ends.
func (f *IRC) Listening(ctx context.Context) {
	f.Until(ctx, func() bool { return slices.ContainsFunc(f.users, func(u *ircUser) bool { return u.entered }) })
}

// Until waits until ok is true after an event, or ctx ends. ok must not call the fake.
func (f *IRC) Until(ctx context.Context, ok func() bool) bool {
	for {
		f.mu.Lock()
		done, changed := ok(), f.changed
		f.mu.Unlock()
		if done {
			return true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}

// Called waits until hob has sent a command that often, or ctx ends.
func (f *IRC) Called(ctx context.Context, command string, n int) bool {
	return f.Until(ctx, func() bool { return f.calls[command] >= n })
}

func (f *IRC) accept() error {
	for {
		conn, err := f.lis.Accept()
		if err != nil {
			return nil // closed
		}
		u := &ircUser{f: f, conn: conn, caps: map[string]bool{}, joined: map[string]bool{}, watched: map[string]bool{}}
		f.mu.Lock()
		if f.closed {
			_ = conn.Close()
		}
		f.users = append(f.users, u)
		f.mu.Unlock()
		f.group.Once("fake irc user", u.serve)
	}
}

// happened wakes waiting callers. The caller holds the lock.
func (f *IRC) happened() {
	close(f.changed)
	f.changed = make(chan struct{})
}

// pingTimeout is the silence after which the server closes a connection.
const pingTimeout = time.Minute

// serve reads the lines of one connection.
func (u *ircUser) serve() error {
	in := bufio.NewScanner(u.conn)
	for u.conn.SetReadDeadline(time.Now().Add(pingTimeout)) == nil && in.Scan() {
		if !u.line(in.Text()) {
			break
		}
	}
	_ = u.conn.Close() // both ends know
	u.f.mu.Lock()
	defer u.f.mu.Unlock()
	u.f.gone(u)
	u.f.happened()
	return nil
}

// gone removes a connection from the network. The caller holds the lock.
func (f *IRC) gone(u *ircUser) {
	f.users = slices.DeleteFunc(f.users, func(o *ircUser) bool { return o == u })
}

// spread sends a line to everybody concerned, except one. The caller holds the lock.
func (f *IRC) spread(l ircLine, but *ircUser) {
	for _, u := range f.users {
		if u != but && u.registered && (strings.EqualFold(u.nick, l.target) || u.joined[strings.ToLower(l.target)]) {
			u.say(l, "")
		}
	}
}

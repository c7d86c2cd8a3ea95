package irc_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	osexec "os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"hob/channels"
	"hob/channels/channelstest"
	"hob/channels/irc"
	"hob/daemon/event"
	"hob/daemon/sys/systest"
)

// TestSuiteOfNgircd runs the suite with the real server ngircd (Debian's package), which has no accounts and
// no history.
func TestSuiteOfNgircd(t *testing.T) {
	t.Parallel() // most of it is waiting
	path := program(t, "ngircd")
	channelstest.Run(t, func(t *testing.T) channelstest.World {
		addr := ngircd(t, path)
		return real(t, "ngircd", addr, irc.Config{Server: addr, Plain: true, TrustNicks: true, Channels: []string{"#family"}})
	})
}

// program finds a server's program.
func program(t *testing.T, name string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("a real server")
	}
	return systest.Program(t, name)
}

// real is the world of a real server, with the owner sam at addr.
func real(t *testing.T, server, addr string, cfg irc.Config) channelstest.World {
	t.Helper()
	return realOf(t, server, join(t, addr, "sam"), "sam", cfg)
}

// realOf is the world of a real server on which the owner sam has the given id.
func realOf(t *testing.T, server string, sam *client, id string, cfg irc.Config) channelstest.World {
	t.Helper()
	return channelstest.World{
		Name: "irc", To: event.Address("irc:" + id), Connected: true, Lines: true, Forgets: true, Server: server,
		Rules: channels.Rules{Owner: []string{id}, Groups: []string{"#family"}},
		Open:  func() channels.Channel { return open(t, cfg) },
		Say: func(text string) string {
			sam.say("PRIVMSG hob :" + text)
			sam.sync()
			return text
		},
		ID: func(in event.In) string { return in.Text() },
		Noise: func() {
			sam.say("NOTICE hob :an auto-reply", "PRIVMSG hob :\x01VERSION\x01", "JOIN #family", "PRIVMSG #family :nobody is meant", "PART #family")
			sam.sync()
		},
		Sent: func() []string {
			sam.sync()
			return sam.heard()
		},
		Listening: func(ctx context.Context) {
			for !sam.sees("hob") && ctx.Err() == nil {
				<-time.After(20 * time.Millisecond)
			}
		},
		People: channelstest.People{Group: func(text string) string {
			sam.say("JOIN #family", "PRIVMSG #family :hob: "+text)
			sam.sync()
			return text
		}},
	}
}

// free returns an unused address on the loopback interface.
func free(t *testing.T) (addr, port string) {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr = lis.Addr().String()
	if _, port, err = net.SplitHostPort(addr); err != nil {
		t.Fatal(err)
	}
	if err := lis.Close(); err != nil {
		t.Fatal(err)
	}
	return addr, port
}

// serve runs a server's program until the test ends.
func serve(t *testing.T, path string, args ...string) {
	t.Helper()
	cmd := osexec.CommandContext(context.WithoutCancel(t.Context()), path, args...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it has nothing to keep
		_ = cmd.Wait()
	})
}

// ngircd starts a server on a free port of the loopback interface.
func ngircd(t *testing.T, path string) string {
	t.Helper()
	addr, port := free(t)
	file := filepath.Join(t.TempDir(), "ngircd.conf")
	conf := "[Global]\nName = irc.test.example\nInfo = test\nListen = 127.0.0.1\nPorts = " + port + "\nMotdPhrase = hello\n" +
		"[Limits]\nMaxConnectionsIP = 0\n[Options]\nPAM = no\nDNS = no\nIdent = no\n"
	if err := os.WriteFile(file, []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	serve(t, path, "-n", "-f", file)
	return addr
}

// client is a person on a real server.
type client struct {
	t     *testing.T
	conn  net.Conn
	mu    sync.Mutex
	lines []string
	more  chan struct{}
	count int
}

// join connects a person to a server that may still be starting.
func join(t *testing.T, addr, nick string) *client {
	t.Helper()
	limit := time.Now().Add(20 * time.Second)
	conn, err := net.Dial("tcp", addr)
	for err != nil && time.Now().Before(limit) {
		<-time.After(20 * time.Millisecond)
		conn, err = net.Dial("tcp", addr)
	}
	if err != nil {
		t.Fatal(err)
	}
	c := &client{t: t, conn: conn, more: make(chan struct{})}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for in := bufio.NewScanner(conn); in.Scan(); {
			c.mu.Lock()
			c.lines = append(c.lines, in.Text())
			close(c.more)
			c.more = make(chan struct{})
			c.mu.Unlock()
		}
	}()
	t.Cleanup(func() {
		_ = conn.Close()
		<-ended
	})
	c.say("NICK "+nick, "USER "+nick+" 0 * :"+nick)
	c.until(func(l string) bool { return strings.Contains(l, " 376 ") || strings.Contains(l, " 422 ") })
	return c
}

func (c *client) say(lines ...string) {
	c.t.Helper()
	if _, err := c.conn.Write([]byte(strings.Join(lines, "\r\n") + "\r\n")); err != nil {
		c.t.Fatal(err)
	}
}

// until waits for a line.
func (c *client) until(ok func(string) bool) {
	c.t.Helper()
	limit := time.After(30 * time.Second)
	for {
		c.mu.Lock()
		found, more := slices.ContainsFunc(c.lines, ok), c.more
		c.mu.Unlock()
		if found {
			return
		}
		select {
		case <-more:
		case <-limit:
			c.t.Fatalf("it did not come; heard: %q", c.lines)
		}
	}
}

// sync waits until the server has processed everything.
func (c *client) sync() {
	c.t.Helper()
	c.mu.Lock()
	c.count++
	token := fmt.Sprintf("sync%d", c.count)
	c.mu.Unlock()
	c.say("PING " + token)
	c.until(func(l string) bool { return strings.Contains(l, " PONG ") && strings.HasSuffix(l, ":"+token) })
}

// sees reports whether a person is connected, registered, and in the channel.
func (c *client) sees(nick string) bool {
	c.t.Helper()
	return c.answers("WHOIS "+nick, func(l string) bool { return strings.Contains(l, " 319 ") && strings.Contains(l, "#family") })
}

// answers reports whether the server answers a line with the expected one.
func (c *client) answers(line string, ok func(string) bool) bool {
	c.t.Helper()
	c.mu.Lock()
	from := len(c.lines)
	c.mu.Unlock()
	c.say(line)
	c.sync()
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.ContainsFunc(c.lines[from:], ok)
}

// heard returns the texts that the person received.
func (c *client) heard() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var texts []string
	for _, l := range c.lines {
		if _, rest, ok := strings.Cut(l, " PRIVMSG "); ok {
			_, text, _ := strings.Cut(rest, ":")
			texts = append(texts, text)
		}
	}
	return texts
}

// TestServicesOfRealServers (C3): on ngircd and InspIRCd a service names hob in a channel and in private,
// with PRIVMSG and NOTICE; people set a topic and leave with such texts. None of these is a message to hob
// until sam writes one.
func TestServicesOfRealServers(t *testing.T) {
	t.Parallel() // most of it is waiting
	for _, name := range []string{"ngircd", "inspircd"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path, addr := program(t, name), ""
			cfg := irc.Config{TrustNicks: true, Channels: []string{"#family"}}
			if name == "ngircd" {
				addr = ngircd(t, path)
				cfg.Server, cfg.Plain = addr, true
			} else {
				addr, cfg.Server, cfg.Fingerprint = inspircd(t, path)
			}
			sam, service := join(t, addr, "sam"), join(t, addr, "ChanServ")
			w := realOf(t, name, sam, "sam", cfg)
			ch, b := open(t, cfg), &channelstest.MessageInbox{}
			channelstest.Keep(t, ch, b)
			w.Listening(t.Context())
			service.say("JOIN #family", "PRIVMSG #family :sam gave hob +v", "NOTICE #family :hob joined", "PRIVMSG hob :hob is registered", "TOPIC #family :ask hob", "PART #family :bye, hob")
			service.sync()
			w.People.Group("now you")
			b.Until(t, func() bool {
				return slices.ContainsFunc(b.List(), func(m channels.Message) bool { return m.Text == "now you" })
			})
			for _, m := range b.List() {
				if !m.Auto && m.Text != "now you" {
					t.Errorf("hob takes for speech: %+v", m)
				}
			}
		})
	}
}

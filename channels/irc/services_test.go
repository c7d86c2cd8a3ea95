package irc_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hob/channels"
	"hob/channels/channelstest"
	"hob/channels/irc"
)

// accounts is an InspIRCd with services for accounts (Debian's package atheme-services), on which hob and sam
// are registered. sam is connected and logged in.
func accounts(t *testing.T) (sam *client, plain string, cfg irc.Config) {
	t.Helper()
	ircd := program(t, "inspircd")
	atheme := program(t, "atheme-services")
	_, port := free(t)
	plain, secure, print := inspircd(t, ircd, fmt.Sprintf(`<module name="spanningtree"><module name="sasl"><module name="monitor">
<bind address="127.0.0.1" port="%s" type="servers">
<link name="services.test.example" ipaddr="127.0.0.1" port="%s" allowmask="127.0.0.1" sendpass="link" recvpass="link">
<uline server="services.test.example" silent="yes">
<sasl target="services.test.example">
`, port, port))
	dir := t.TempDir()
	file := filepath.Join(dir, "atheme.conf")
	if err := os.WriteFile(file, []byte(athemeConf(port)), 0o600); err != nil {
		t.Fatal(err)
	}
	serve(t, atheme, "-n", "-c", file, "-l", filepath.Join(dir, "log"), "-p", filepath.Join(dir, "pid"), "-D", dir)
	member(t, plain, "hob").say("QUIT")
	return member(t, plain, "sam"), plain, irc.Config{
		Server: secure, Fingerprint: print, Account: "hob", Password: "env:PASSWORD", Channels: []string{"#family"},
	}
}

// athemeConf is the configuration of services that link to a port on the loopback interface.
func athemeConf(port string) string {
	var conf strings.Builder
	for _, module := range []string{
		"protocol/inspircd", "backend/opensex", "crypto/posix", "nickserv/main", "nickserv/register", "nickserv/identify", "nickserv/logout",
		"saslserv/main", "saslserv/plain",
	} {
		fmt.Fprintf(&conf, "loadmodule \"modules/%s\";\n", module)
	}
	for _, service := range []string{"NickServ", "SaslServ"} {
		fmt.Fprintf(&conf, "%s { nick = %q; user = %q; host = \"services.test.example\"; real = \"x\"; };\n", strings.ToLower(service), service, service)
	}
	return conf.String() + `serverinfo {
	name = "services.test.example"; desc = "services"; numeric = "00A"; recontime = 1; netname = "Test"; adminname = "x"; mta = "/bin/true";
	adminemail = "x@test.example"; registeremail = "x@test.example"; loglevel = { error; }; maxlogins = 50; maxusers = 50; mdlimit = 30;
	emaillimit = 100; emailtime = 300; auth = none; casemapping = ascii;
};
uplink "irc.test.example" { host = "127.0.0.1"; send_password = "link"; receive_password = "link"; port = ` + port + `; };
general { join_chans; leave_chans; commit_interval = 5; uplink_sendq_limit = 1048576; language = "en"; };
`
}

// member registers an account for a nick when the services are available, and logs in.
func member(t *testing.T, addr, nick string) *client {
	t.Helper()
	c := join(t, addr, nick)
	for limit := time.Now().Add(20 * time.Second); !c.answers("ISON NickServ", func(l string) bool { return strings.Contains(l, " 303 ") && strings.Contains(l, "NickServ") }); {
		if time.Now().After(limit) {
			t.Fatal("there are no services")
		}
		<-time.After(20 * time.Millisecond)
	}
	c.say("PRIVMSG NickServ :REGISTER s3cret " + nick + "@test.example")
	c.until(func(l string) bool { return strings.Contains(l, " 900 ") })
	return c
}

// TestAccountsOfServices tests accounts completely: hob logs in with SASL, recognises the sender, and answers
// the account but not a person who took its nick.
func TestAccountsOfServices(t *testing.T) {
	t.Parallel() // most of it is waiting
	sam, plain, cfg := accounts(t)
	wrong := cfg
	wrong.Password = "env:LONG"
	later := (*channels.RetryAfter)(nil)
	if _, err := open(t, wrong).Test(t.Context()); !errors.As(err, &later) || !strings.Contains(err.Error(), "refuses the log-in as hob") {
		t.Errorf("with a wrong password: %v", err)
	}
	if lines, err := open(t, cfg).Test(t.Context()); err != nil || !strings.Contains(strings.Join(lines, " "), "It accepts the log-in as hob.") {
		t.Errorf("%q, %v", lines, err)
	}
	w := realOf(t, "InspIRCd", sam, "$sam", cfg)
	ch, b := open(t, cfg), &channelstest.MessageInbox{}
	channelstest.Keep(t, ch, b)
	w.Listening(t.Context())
	w.Say("hello")
	b.Came(t, 1)
	if m := b.List()[0]; m.From.ID != "$sam" {
		t.Errorf("received %+v", m)
	}
	if _, err := ch.Send(t.Context(), delivery("irc:$sam", "hello, sam")); err != nil || len(w.Sent()) != 1 {
		t.Errorf("%v, sent %q", err, w.Sent())
	}
	sam.say("NICK sam_away")
	sam.sync()
	eve := join(t, plain, "sam")
	eve.say("PRIVMSG hob :it is me")
	b.Came(t, 2)
	if m := b.List()[1]; m.From.ID != "" {
		t.Errorf("eve is %+v", m.From)
	}
	if _, err := ch.Send(t.Context(), delivery("irc:$sam", "secret")); err == nil || len(eve.heard()) > 0 {
		t.Errorf("%v, eve has heard %q", err, eve.heard())
	}
	sam.say("PRIVMSG hob :I am here now")
	b.Came(t, 3)
	if _, err := ch.Send(t.Context(), delivery("irc:$sam", "secret")); err != nil || len(w.Sent()) != 2 {
		t.Errorf("%v, sent %q", err, w.Sent())
	}
	if eve.sync(); len(eve.heard()) > 0 {
		t.Errorf("eve has heard %q", eve.heard())
	}
}

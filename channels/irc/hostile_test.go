package irc_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hob/channels/channelstest"
	"hob/channels/irc"
)

// A server that keeps sending lines without completing the registration does not block hob.
func TestARegistrationWithoutEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := env()
		ended := make(chan struct{})
		e.Dial = func(context.Context, string, string) (net.Conn, error) {
			mine, hobs := net.Pipe()
			go func() {
				defer close(ended)
				lines := bufio.NewScanner(mine)
				for range 3 {
					lines.Scan() // what hob opens with
				}
				for {
					if _, err := fmt.Fprint(mine, ":irc.test NOTICE * :please wait\r\n"); err != nil {
						return
					}
					<-time.After(5 * time.Second)
				}
			}()
			return hobs, nil
		}
		ch := openWith(t, e, irc.Config{Server: "irc.test:6667", Plain: true})
		began := time.Now()
		err := ch.Run(t.Context(), &channelstest.MessageInbox{})
		if err == nil || !strings.Contains(err.Error(), "did not complete the registration within 2m0s") {
			t.Errorf("Run: %v", err)
		}
		if took := time.Since(began); took > 3*time.Minute {
			t.Errorf("it took %s", took)
		}
		<-ended
	})
}

// Records about people and about the server are limited.
func TestAServerThatTellsTooMuch(t *testing.T) {
	ch := open(t, irc.Config{Server: "irc.test", Channels: []string{"#family"}})
	talk := ch.Talk(nil, "extended-join", "account-notify")
	who := func(nick string) string {
		m, _ := talk.Read(":" + nick + "!u@h PRIVMSG #family :hi")
		return m.From.ID
	}
	talk.Read(":sam!u@h JOIN #family sam :Sam")
	if got := who("sam"); got != "$sam" {
		t.Fatalf("sam is %q", got)
	}
	for i := range irc.MaxPeople {
		talk.Read(fmt.Sprintf(":x%d!u@h ACCOUNT acc%d", i, i))
	}
	if got := who("sam"); got != "~sam" {
		t.Errorf("sam is %q, behind more people than are known", got)
	}
	if last := fmt.Sprintf("x%d", irc.MaxPeople-1); who(last) != "$acc"+last[1:] {
		t.Errorf("%s is %q", last, who(last))
	}
	for i := range 2 * irc.MaxTraits {
		talk.Read(fmt.Sprintf(":irc.test 005 hob KEY%d=1 :are supported", i))
	}
	if n := talk.Traits(); n != irc.MaxTraits {
		t.Errorf("%d traits of the server are kept, want %d", n, irc.MaxTraits)
	}
}

package signal_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"hob/channels"
	"hob/channels/channelstest"
)

func TestSuite(t *testing.T) {
	channelstest.Run(t, func(t *testing.T) channelstest.World {
		f := server(t)
		return world(f, func() channels.Channel { return open(t, f) })
	})
}

func TestStorm(t *testing.T) {
	channelstest.Storm(t, func(t *testing.T, n *channelstest.Network) channelstest.World {
		f := channelstest.SignalOn(n.Listen(), phone)
		t.Cleanup(f.Close)
		e := n.Env(t, "signal", nil)
		w := world(f, func() channels.Channel { return openWith(t, e, f) })
		w.Account.Other = func() channels.Channel {
			n := channelstest.NewNetwork()
			f := channelstest.SignalOn(n.Listen(), "+4917000000")
			t.Cleanup(f.Close)
			return openAs(t, n.Env(t, "signal", nil), f, "+4917000000")
		}
		return w
	})
}

// world is the private chat with the owner sam.
func world(f *channelstest.Signal, open func() channels.Channel) channelstest.World {
	faults := map[channelstest.Failure]channelstest.SignalFault{
		channelstest.Later: {Code: -5, Result: "RATE_LIMIT_FAILURE", RetryAfter: 7}, channelstest.Refused: {Code: -1, Result: "UNREGISTERED_FAILURE"},
		channelstest.Broken: {Status: 502}, channelstest.CutBefore: {Cut: "before"}, channelstest.CutAfter: {Cut: "after"},
	}
	return channelstest.World{
		Name: "signal", To: "signal:" + sam, None: "signal:" + channelstest.SignalNobody, Rules: channels.Rules{Owner: []string{sam}, Groups: []string{home}},
		Open:  open,
		Say:   func(text string) string { return named(f.Say(sam, text)) },
		Again: func(id string) { f.Again(sam, stamp(id)) },
		Noise: func() { noise(f) },
		Fail:  func(k channelstest.Failure) { f.Fail("send", faults[k]) },
		Sent: func() []string {
			var texts []string
			for _, m := range f.Sent() {
				texts = append(texts, m.Text)
			}
			return texts
		},
		Listening: f.Listening,
		People:    people(f),
		Readers:   channelstest.Readers{Signs: func() int { return len(f.Signs()) }, Files: func() []channelstest.Shown { return shown(f) }},
		Account:   channelstest.Account{Lose: f.Restart, Drop: f.Drop},
	}
}

// named returns the id of a message from sam.
func named(timestamp int64) string { return fmt.Sprintf("%s/%d", sam, timestamp) }

// stamp returns the timestamp in an id.
func stamp(id string) int64 {
	n, err := strconv.ParseInt(id[strings.LastIndex(id, "/")+1:], 10, 64)
	if err != nil {
		panic(err) // a test's own mistake
	}
	return n
}

// people returns what people can do in Signal's apps.
func people(f *channelstest.Signal) channelstest.People {
	file := func(name string, size int) string {
		return named(f.Write(sam, obj{"message": nil, "attachments": []obj{{"id": name, "filename": name, "size": size}}}))
	}
	return channelstest.People{
		Edit:   func(id, text string) string { return named(f.Edit(sam, stamp(id), obj{"message": text})) },
		Delete: func(id string) { f.Write(sam, obj{"message": nil, "remoteDelete": obj{"timestamp": stamp(id)}}) },
		Attach: func(name string, content []byte) string {
			f.File(name, base64.StdEncoding.EncodeToString(content))
			return file(name, len(content))
		},
		Lost: func(name string) string { return file(name, 0) },
		Group: func(text string) string {
			return named(f.Write(sam, obj{
				"message": "\uFFFC " + text, "mentions": []obj{{"uuid": own, "start": 0, "length": 1}}, "groupInfo": obj{"groupId": home, "groupName": "Home"},
			}))
		},
	}
}

// noise sends data that is not a message.
func noise(f *channelstest.Signal) {
	f.Push("<html>")
	f.Push("")
	f.Push(`{"account":"` + phone + `"}`)
	f.Push(`{"exception":{"message":"no session","type":"ProtocolNoSessionException"},"envelope":{"sourceUuid":"` + sam + `","timestamp":1}}`)
	f.Push(`{"envelope":{"dataMessage":{"timestamp":"x"}}}`)
	f.Envelope(sam, obj{"timestamp": 5, "typingMessage": obj{"action": "STARTED", "timestamp": 5}})
	f.Envelope(sam, obj{"timestamp": 6, "receiptMessage": obj{"when": 6, "isDelivery": true, "timestamps": []int{1}}})
	f.Write(sam, obj{"message": nil, "expiresInSeconds": 3600, "isExpirationUpdate": true})
	f.Write(sam, obj{"message": nil, "reaction": obj{"emoji": "👍", "targetSentTimestamp": 1}})
	f.Write(own, obj{"message": "my own"})
	f.Note(other, obj{"message": "what the account's owner wrote to somebody else"})
	f.Fail("events", channelstest.SignalFault{Status: 500}, channelstest.SignalFault{Raw: "<html>"}, channelstest.SignalFault{Cut: "before"})
	f.CutStreams()
	f.Listening(context.Background())
}

// TestTable checks the row of docs/channels.md.
func TestTable(t *testing.T) {
	f := server(t)
	channelstest.Table(t, "signal", world(f, func() channels.Channel { return open(t, f) }))
}

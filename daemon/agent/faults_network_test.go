package agent_test

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"hob/daemon/agent/turn"
	"hob/daemon/llm"
	"hob/daemon/llm/llmtest"
	"hob/daemon/sys/systest"
)

// dialTimeout is that of the library's usual dialer.
const dialTimeout = 30 * time.Second

// fails is a dial that comes to an error after a while.
func fails(wait time.Duration, err error) func(context.Context, *llmtest.Pipe) (net.Conn, error) {
	return func(ctx context.Context, _ *llmtest.Pipe) (net.Conn, error) {
		select {
		case <-time.After(wait):
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: err}
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// resets is a connection that is reset after it has let some bytes of the answer through.
func resets(bytes int) func(context.Context, *llmtest.Pipe) (net.Conn, error) {
	return func(ctx context.Context, p *llmtest.Pipe) (net.Conn, error) {
		c, err := p.Connect(ctx)
		if err != nil {
			return nil, err
		}
		return &resetting{Conn: c, left: bytes}, nil
	}
}

type resetting struct {
	net.Conn
	left int
}

// Read takes what came before the reset. Behind it, it waits until the server has begun to say more, which is lost.
func (r *resetting) Read(p []byte) (int, error) {
	lost := r.left == 0
	if !lost {
		p = p[:min(len(p), r.left)]
	}
	n, err := r.Conn.Read(p)
	if lost && err == nil {
		return 0, errors.Join(&net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)}, r.Close())
	}
	r.left -= n
	return n, err
}

// speaks is a server that takes a request and goes its own way then, over a connection that ends with it.
func speaks(head string, say func(conn net.Conn) error) func(context.Context, *llmtest.Pipe) (net.Conn, error) {
	return func(context.Context, *llmtest.Pipe) (net.Conn, error) {
		near, far := net.Pipe()
		go func() {
			defer func() { _ = far.Close() }()
			req, err := http.ReadRequest(bufio.NewReader(far))
			if err != nil {
				return
			}
			if _, err := io.Copy(io.Discard, req.Body); err != nil {
				return
			}
			if _, err := io.WriteString(far, head); err != nil {
				return
			}
			_ = say(far) // it ends when nobody listens any more
		}()
		return near, nil
	}
}

// streaming is the head of an answer.
const streaming = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"

// sendNothing sends no more data and leaves the connection open.
func sendNothing(net.Conn) error { return nil }

// neverAnswers accepts a connection and never sends anything on it.
func neverAnswers(context.Context, *llmtest.Pipe) (net.Conn, error) {
	near, far := net.Pipe()
	go func() {
		_, _ = io.Copy(io.Discard, far) // until the client has had enough
		_ = far.Close()
	}()
	return near, nil
}

// hangsUp is the other end of a connection that ends as soon as the client has said something.
func hangsUp(context.Context, *llmtest.Pipe) (net.Conn, error) {
	near, far := net.Pipe()
	go func() {
		_, _ = far.Read(make([]byte, 1)) // the end is what matters
		_ = far.Close()
	}()
	return near, nil
}

// certificate is one for the name of the test's server that nobody has vouched for.
func certificate(t *testing.T) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	born := time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC) // bubbles begin in the year 2000
	form := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"model.test"}, NotBefore: born, NotAfter: born.AddDate(100, 0, 0)}
	der, err := x509.CreateCertificate(rand.Reader, form, form, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// secured lets a server speak TLS, and its client believe in it.
func secured(t *testing.T, l net.Listener, client *http.Transport) net.Listener {
	t.Helper()
	cert := certificate(t)
	leaf, err := x509.ParseCertificate(cert.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	known := x509.NewCertPool()
	known.AddCert(leaf)
	client.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS13, RootCAs: known}
	return tls.NewListener(l, &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{cert}})
}

// wrongCertificate serves TLS with a certificate that the client does not trust.
func wrongCertificate(cert tls.Certificate) func(context.Context, *llmtest.Pipe) (net.Conn, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{cert}}
	return func(ctx context.Context, _ *llmtest.Pipe) (net.Conn, error) {
		near, far := net.Pipe()
		go func() {
			_ = tls.Server(far, config).HandshakeContext(context.WithoutCancel(ctx)) // it fails on the other side
			_ = far.Close()
		}()
		return near, nil
	}
}

func TestFaultsOfTheLine(t *testing.T) {
	const away = "the model's server cannot be reached: "
	ticks := func(sign string) func(conn net.Conn) error {
		return func(conn net.Conn) error {
			for {
				if _, err := io.WriteString(conn, sign); err != nil {
					return err
				}
				if err := conn.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
					return err
				}
				if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
					return err // nobody listens any more
				}
			}
		}
	}
	noHost := &net.DNSError{Err: "no such host", Name: "model.test", IsNotFound: true}
	playAll(t, []fault{
		{name: "refused", dial: fails(0, os.NewSyscallError("connect", syscall.ECONNREFUSED)), asks: allTries, takes: allWaits, says: "connection refused", once: 2, after: oneWait},
		{name: "DNS failure", dial: fails(0, noHost), asks: allTries, takes: allWaits, says: "lookup model.test: no such host", once: 2, after: oneWait},
		{
			name: "DNS timeout", dial: fails(5*time.Second, &net.DNSError{Err: "i/o timeout", Name: "model.test", IsTimeout: true}),
			asks: allTries, takes: allWaits + allTries*5*time.Second, says: away, once: 2, after: oneWait + 5*time.Second,
		},
		{name: "connect hang", dial: fails(dialTimeout, os.ErrDeadlineExceeded), asks: allTries, takes: allWaits + allTries*dialTimeout, says: "i/o timeout", once: 2, after: oneWait + dialTimeout},
		{name: "TLS: broken off", https: true, dial: hangsUp, asks: allTries, takes: allWaits, says: away, once: 2, after: oneWait},
		{name: "TLS: hang", https: true, dial: neverAnswers, asks: allTries, takes: allWaits + allTries*10*time.Second, says: "TLS handshake timeout", once: 2, after: oneWait + 10*time.Second},
		// A request that fits into one write may have been read before the connection closed, and counts as paid for. This one does not fit.
		{name: "closed without a word", asked: strings.Repeat("do it ", 1000), dial: hangsUp, asks: allTries, takes: allWaits, says: away, once: 2, after: oneWait},
		{name: "no HTTP", dial: speaks("ERROR\r\n", sendNothing), asks: allTries, takes: allWaits, says: "malformed HTTP response", once: 2, after: oneWait, billed: true},
		{name: "first byte hang", turn: llmtest.Turn{Break: llmtest.Hang}, asks: 3, takes: 3*120*time.Second + twoWaits, says: "the model's server fell silent", once: 2, after: oneWait + 120*time.Second, billed: true},
		{name: "hang before the first word", turn: llmtest.Turn{Answer: llmtest.Say("so far so"), Break: llmtest.Hang, At: 300}, asks: 3, takes: 3*120*time.Second + twoWaits, says: "the model's server fell silent", once: 2, after: oneWait + 120*time.Second, billed: true},
		{name: "signs of life and nothing else", dial: speaks(streaming, ticks(": wait\n\n")), asks: 3, takes: 3*120*time.Second + twoWaits, says: "the model's server fell silent", once: 2, after: oneWait + 120*time.Second, billed: true},
		{name: "reset in the middle", dial: resets(600), asks: allTries, takes: allWaits, says: "connection reset by peer", once: 2, after: oneWait, billed: true},
		{name: "reset between the head and the body", dial: resets(180), asks: allTries, takes: allWaits, says: "connection reset by peer", once: 2, after: oneWait, billed: true},
		{name: "cut in the middle", turn: llmtest.Turn{Answer: llmtest.Say("so far so good"), Break: llmtest.Cut, At: 300}, asks: allTries, takes: allWaits, says: "without a finish reason", once: 2, after: oneWait, billed: true},
		{name: "dropped in the middle", turn: llmtest.Turn{Answer: llmtest.Say("so far so good"), Break: llmtest.Drop, At: 300}, asks: allTries, takes: allWaits, says: "the model's answer broke off", once: 2, after: oneWait, billed: true},
		{name: "no body", turn: llmtest.Turn{Answer: llmtest.Say("a"), Break: llmtest.Cut}, asks: allTries, takes: allWaits, says: "without a finish reason", once: 2, after: oneWait, billed: true},
		{name: "reset before the head", dial: resets(0), asks: allTries, takes: allWaits, says: "connection reset by peer", once: 2, after: oneWait, billed: true},
		{name: "no HTTP, and the key in it", dial: speaks("ERROR:"+theKey+"\r\n", sendNothing), asks: allTries, takes: allWaits, says: "malformed HTTP response", once: 2, after: oneWait, billed: true},
		{name: "TLS: a certificate that nobody knows", https: true, dial: wrongCertificate(certificate(t)), asks: 1, says: "certificate signed by unknown authority"},
	})
	// V4: pings are no content, so they keep a stream alive no longer than silence does.
	playOver(t, "anthropic", []fault{{
		name: "pings and nothing else", dial: speaks(streaming+events(messageStart), ticks(events(`{"type":"ping"}`))),
		asks: 3, takes: 3*120*time.Second + twoWaits, says: "the model's server fell silent", once: 2, after: oneWait + 120*time.Second, billed: true,
	}})
}

// endless is a server that says the same for ever; sent counts its bytes. It makes them while it sends.
func endless(first, piece string, sent *int) func(context.Context, *llmtest.Pipe) (net.Conn, error) {
	return speaks(streaming, func(conn net.Conn) error {
		if _, err := io.WriteString(conn, first); err != nil {
			return err
		}
		for *sent < 100<<20 {
			n, err := io.WriteString(conn, piece)
			*sent += n
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// An answer of 100 MB is given up long before its end, is not asked for again, and counts as paid for.
func TestAnswersWithoutEnd(t *testing.T) {
	if testing.Short() {
		t.Skip("much data, which .ci/run sends without the race detector")
	}
	words := strings.Repeat("and on ", 1<<12)
	chunk := func(delta string) string {
		return fmt.Sprintf(`data: {"choices":[{"index":0,"delta":{%s},"finish_reason":null}]}`+"\n\n", delta)
	}
	begin := func(block string) string { return events(messageStart, blockStart(0, block)) }
	piece := func(kind, field string) string {
		return events(blockDelta(0, fmt.Sprintf(`{"type":%q,%q:%q}`, kind, field, words)))
	}
	const byLimit, bySize = "the answer is far longer than its limit", "the answer is longer than 16 MB"
	for _, c := range []struct {
		name, provider, first, piece, says string
		most                               int // MB that are taken
	}{
		{"text", "compatible", "", chunk(`"content":"` + words + `"`), byLimit, 2},
		{"text", "anthropic", begin(textBlock), piece("text_delta", "text"), byLimit, 2},
		{"reasoning", "compatible", "", chunk(`"reasoning_content":"` + words + `"`), byLimit, 2},
		{"reasoning", "anthropic", begin(`{"type":"thinking","thinking":"","signature":""}`), piece("thinking_delta", "thinking"), byLimit, 2},
		{"signature", "anthropic", begin(`{"type":"thinking","thinking":"","signature":""}`), piece("signature_delta", "signature"), byLimit, 2},
		{"arguments", "compatible", chunk(`"tool_calls":[{"index":0,"id":"a","function":{"name":"note","arguments":"{\"what\":\""}}]`), chunk(`"tool_calls":[{"index":0,"function":{"arguments":"` + words + `"}}]`), byLimit, 2},
		{"arguments", "anthropic", begin(noteBlock), piece("input_json_delta", "partial_json"), byLimit, 2},
		{"one line", "", "data: {", words, bySize, 17},
		{"no stream", "", `{"choices":[{"message":{"content":"`, words, bySize, 17},
		{"signs of life", "", "", strings.Repeat(": wait\n\n", 1<<12), bySize, 17},
		{"pings", "anthropic", events(messageStart), strings.Repeat(events(`{"type":"ping"}`), 1<<10), bySize, 17},
	} {
		for _, provider := range []string{"compatible", "anthropic"} {
			if c.provider != "" && c.provider != provider {
				continue
			}
			sent := 0
			playOver(t, provider, []fault{{
				name: c.name, dial: endless(c.first, c.piece, &sent), asks: 1, says: "the model's answer did not end: " + c.says, billed: true,
				also: func(t *testing.T, w *wireHarness, _ int64) {
					if sent == 0 || sent > c.most<<20 {
						t.Errorf("%d bytes were taken, want %d MB at most", sent, c.most)
					}
					if w.times("note") > 0 {
						t.Error("a call ran whose arguments have no end")
					}
				},
			}})
		}
	}
}

// A stream that breaks off at any byte is no answer until its reason to end has come: nothing of it is believed, and no call of it
// runs.
func TestCutAtEveryByte(t *testing.T) {
	answer := use("note", "über")
	answer.Usage = llm.Usage{Input: 1000, Output: 40} // else the stream's length depends on the request's
	for provider, c := range map[string]struct{ wire, reason string }{
		"compatible": {llmtest.Streamed(answer).Wire(0), `"finish_reason":"tool_calls"`},
		"anthropic":  {llmtest.Streamed(answer).MessagesWire(0), `"stop_reason":"tool_use"`},
	} {
		wire, last := c.wire, strings.Index(c.wire, c.reason)
		complete := last + strings.Index(wire[last:], "\n\n") + 2 // without the end of its line an event is not there
		for how, step := range map[llmtest.Break]int{llmtest.Cut: 1, llmtest.Drop: 7} {
			switch {
			case testing.Short():
				step = 37
			case !systest.Thorough():
				step *= 5
			}
			t.Run(fmt.Sprint(provider, " ", how), func(t *testing.T) {
				overWire(t, fault{provider: provider}.hosts, func(t *testing.T, w *wireHarness) {
					w.cutAt(t, len(wire), complete, step, llmtest.Turn{Answer: answer, Break: how})
				}, func(r *harness) { r.policy.PerDayTokens = 100_000_000 })
			})
		}
	}
}

// cutAt plays a stream that breaks off at every step-th byte, and around the byte at which its answer is complete.
func (w *wireHarness) cutAt(t *testing.T, size, complete, step int, cut llmtest.Turn) {
	t.Helper()
	for at := range size + 1 {
		if at%step != 0 && (at < complete-2 || at > complete) {
			continue
		}
		cut.At = at
		w.hosts[0].suffer(fault{turn: cut}, 1, "well")
		before := w.times("note")
		in := ownerSays("go")
		in.Session = fmt.Sprint("cut at ", at)
		got := w.finished(t, w.post(in))
		lost, paid := w.lost(got.ID)
		ran := w.times("note") - before
		if said := w.final(t, got.ID); got.State != turn.Done || said != "well" {
			t.Fatalf("cut at %d: %s, %q", at, got.State, said)
		}
		if whole := at >= complete; whole != (ran == 1) || whole != (lost == 0) || lost != paid {
			t.Fatalf("cut at %d of %d (complete at %d): the call ran %d times, %d requests were lost, %d paid for", at, size, complete, ran, lost, paid)
		}
	}
	w.goesOn(t)
	w.sound(t)
}

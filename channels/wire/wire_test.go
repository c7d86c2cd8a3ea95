package wire_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"hob/channels/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var now = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)

func TestAfter(t *testing.T) {
	for h, want := range map[string]time.Duration{
		"": 0, "0": 0, "-5": 0, "12": 12 * time.Second, "0.5": 500 * time.Millisecond, "99999999999": 0, "1e300": 0, "Inf": 0, "NaN": 0, "x": 0,
		now.Add(time.Minute).Format(http.TimeFormat): time.Minute, now.Add(-time.Minute).Format(http.TimeFormat): 0,
	} {
		if got := wire.After(http.Header{"Retry-After": {h}}, now); got != want {
			t.Errorf("%q: %s, want %s", h, got, want)
		}
	}
}

// server is a server whose answers come from f, with a client for it.
func server(t *testing.T, f http.HandlerFunc) (address string, client *http.Client) {
	s := httptest.NewServer(f)
	tr := &http.Transport{}
	t.Cleanup(func() {
		tr.CloseIdleConnections()
		s.Close()
	})
	return s.URL, &http.Client{Transport: tr, Timeout: time.Hour}
}

func TestClientStays(t *testing.T) {
	at, base := server(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/elsewhere", http.StatusFound)
	})
	c := wire.Client(base, time.Minute)
	if c.Timeout != time.Minute || base.Timeout != time.Hour || base.CheckRedirect != nil {
		t.Errorf("the client has %s, what it was made of %s", c.Timeout, base.Timeout)
	}
	resp, err := c.Post(at, "text/plain", strings.NewReader("x"))
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close() // only the status counts
	if resp.StatusCode != http.StatusFound {
		t.Errorf("answered %d, want the redirect itself", resp.StatusCode)
	}
}

// short is a body that is shorter than announced.
type short struct{ io.Reader }

func TestWritten(t *testing.T) {
	at, client := server(t, func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err == nil {
			panic(http.ErrAbortHandler) // the whole request is there, and no answer comes
		}
	})
	nobody, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := nobody.Close(); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name, at string
		body     io.Reader
		length   int64
		want     bool
	}{
		{"no answer", at, strings.NewReader("whole"), 5, true},
		{"nobody there", "http://" + nobody.Addr().String(), strings.NewReader("whole"), 5, false},
		{"no end", at, short{strings.NewReader(strings.Repeat("x", 1<<16))}, 1 << 17, false},
	} {
		var w wire.Written
		req, err := http.NewRequestWithContext(w.Watch(t.Context()), http.MethodPost, tc.at, tc.body)
		if err != nil {
			t.Fatal(err)
		}
		req.ContentLength = tc.length
		resp, err := client.Do(req)
		if err == nil {
			_ = resp.Body.Close() // there is none
			t.Fatalf("%s: an answer", tc.name)
		}
		if w.Maybe() != tc.want {
			t.Errorf("%s (%v): maybe written is %t, want %t", tc.name, err, w.Maybe(), tc.want)
		}
	}
}

func TestBare(t *testing.T) {
	why := errors.New("no answer within a second")
	ended, cancel := context.WithDeadlineCause(t.Context(), time.Now().Add(-time.Second), why)
	defer cancel()
	cut := errors.New("cut")
	for _, tc := range []struct {
		ctx  context.Context //nolint:containedctx // a table of calls
		err  error
		want error
	}{
		{t.Context(), cut, cut},
		{t.Context(), &url.Error{Op: "Get", URL: "http://x/secret", Err: cut}, cut},
		{ended, &url.Error{Op: "Get", URL: "http://x/secret", Err: context.DeadlineExceeded}, why},
		{ended, cut, cut},
	} {
		if got := wire.WithoutAddress(tc.ctx, tc.err); !errors.Is(got, tc.want) || strings.Contains(got.Error(), "secret") {
			t.Errorf("%v became %v, want %v", tc.err, got, tc.want)
		}
	}
}

// body is a file's body that records its closing.
type body struct {
	io.Reader
	closed func()
}

func (b body) Close() error { b.closed(); return nil }

// Connection errors are retried, three times in all; permanent errors are not.
func TestFetch(t *testing.T) {
	cut, gone := errors.New("cut"), errors.New("gone")
	lost := func(err error) bool { return errors.Is(err, gone) }
	for _, tc := range []struct {
		name  string
		fails []error
		tries int
		want  error
	}{
		{"at once", nil, 1, nil},
		{"at the third try", []error{cut, cut}, 3, nil},
		{"never", []error{cut, cut, cut}, 3, cut},
		{"lost", []error{gone}, 1, gone},
	} {
		synctest.Test(t, func(t *testing.T) {
			tries, closed := 0, false
			var own context.Context
			got, err := wire.Fetch(t.Context(), func(ctx context.Context) (io.ReadCloser, error) {
				own = ctx //nolint:fatcontext // the last try's
				if tries++; tries <= len(tc.fails) {
					return nil, tc.fails[tries-1]
				}
				return body{strings.NewReader("milk"), func() { closed = true }}, nil
			}, lost)
			if !errors.Is(err, tc.want) || tries != tc.tries {
				t.Fatalf("%s: %v after %d tries, want %v after %d", tc.name, err, tries, tc.want, tc.tries)
			}
			if err != nil {
				return
			}
			if own.Err() != nil {
				t.Errorf("%s: the time is over before the file is read", tc.name)
			}
			if text, err := io.ReadAll(got); string(text) != "milk" || err != nil {
				t.Errorf("%s: read %q, %v", tc.name, text, err)
			}
			if err := got.Close(); err != nil || !closed || own.Err() == nil {
				t.Errorf("%s: closed %t, %v; its time runs on: %t", tc.name, closed, err, own.Err() == nil)
			}
		})
	}
}

// A download that hangs is given up after a minute for each try, and the error says so.
func TestFetchEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		_, err := wire.Fetch(t.Context(), func(ctx context.Context) (io.ReadCloser, error) {
			<-ctx.Done()
			return nil, &url.Error{Op: "Get", URL: "http://x/secret", Err: ctx.Err()}
		}, func(error) bool { return false })
		if err == nil || err.Error() != "the file did not come within 1m0s" || time.Since(began) != 3*time.Minute+3*time.Second {
			t.Errorf("%v after %s", err, time.Since(began))
		}
	})
}

package web_test

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"hob/daemon/netguard"
	"hob/tools"
	"hob/tools/fs/document"
	"hob/tools/web"
)

// TestMain is also the process that reads pages, PDF files and pictures: the tool starts this very program again.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "read-file" {
		os.Exit(document.Helper(os.Args[2:], os.Stdin, os.Stdout, os.Stderr))
	}
	goleak.VerifyTestMain(m)
}

// newFetch builds the tool with its helper, and with artifacts that are not kept.
func newFetch(t testing.TB, client *netguard.Client) tools.Tool {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	helper := []string{self, "read-file"}
	if env, err := exec.LookPath("env"); err == nil { // a program with the race detector would sleep for a second when it ends
		helper = append([]string{env, "GORACE=atexit_sleep_ms=0"}, helper...)
	}
	return web.NewFetch(web.FetchDeps{Client: client, Artifacts: &artifactStore{}, Helper: helper})
}

// artifactStore says where a picture is from.
type artifactStore struct{}

func (*artifactStore) KeepForeign(_ context.Context, name, source string, data []byte) (string, error) {
	return fmt.Sprintf("%s from %s, %d bytes", name, source, len(data)), nil
}

type args map[string]any

// morning is when the calls of the tests are made.
func morning() time.Time { return time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC) }

func callOf(t testing.TB, in args, now time.Time) tools.Call {
	t.Helper()
	raw, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	return tools.Call{ID: "t1_1", Args: raw, Zone: "UTC", Now: now}
}

// do makes a call as the dispatcher does: validate, intent, run.
func do(t testing.TB, tool tools.Tool, in args) (tools.Intent, tools.Result) {
	t.Helper()
	return doAt(t, tool, in, morning())
}

func doAt(t testing.TB, tool tools.Tool, in args, now time.Time) (tools.Intent, tools.Result) {
	t.Helper()
	c := callOf(t, in, now)
	if res, ok := tools.Validate(tool, c.Args); !ok {
		return tools.Intent{}, res
	}
	intent, err := tool.Intent(t.Context(), c)
	if err != nil {
		return tools.Intent{}, tools.ErrorResult(err)
	}
	res, err := tool.Run(t.Context(), c, intent)
	if err != nil {
		t.Fatal(err)
	}
	return intent, res
}

// serve starts a server with a certificate and makes a client that may dial it, and it alone.
func serve(t testing.TB, h http.HandlerFunc) (string, *netguard.Client) {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // it would tell of each connection that goes
	s.StartTLS()
	t.Cleanup(s.Close)
	return s.URL, clientFor(s)
}

func clientFor(s *httptest.Server) *netguard.Client {
	pool := x509.NewCertPool()
	if cert := s.Certificate(); cert != nil {
		pool.AddCert(cert)
	}
	return netguard.NewClient(netguard.Config{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, Roots: pool, Timeout: time.Minute})
}

// closed is an address at which nobody listens.
func closed(t testing.TB) string {
	t.Helper()
	s := httptest.NewServer(nil)
	s.Close()
	return s.URL
}

func write(t testing.TB, w io.Writer, text string) {
	t.Helper()
	if _, err := io.WriteString(w, text); err != nil {
		t.Logf("the client has gone: %v", err)
	}
}

// A turn that is stopped stops its call.
func stopped(t *testing.T, tool tools.Tool, in args, started <-chan struct{}) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := callOf(t, in, morning())
	intent, err := tool.Intent(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan tools.Result, 1)
	go func() {
		res, err := tool.Run(ctx, c, intent)
		if err != nil {
			t.Error(err)
		}
		done <- res
	}()
	<-started
	cancel()
	if res := <-done; res.Code != tools.Cancelled {
		t.Errorf("%v: %s", in, res.Content)
	}
}

// Every web tool is short in the request and declares its results as foreign.
func described(t *testing.T, tool tools.Tool) {
	t.Helper()
	s := tool.Spec()
	if len(s.Description) > 160 || strings.Contains(string(s.Parameters), "null") {
		t.Errorf("%s: %d characters: %s %s", s.Name, len(s.Description), s.Description, s.Parameters)
	}
}

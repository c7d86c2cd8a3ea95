package daemon_test

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"hob/channels/channelstest"
	"hob/daemon/account/caldavtest"
	"hob/daemon/account/googletest"
	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/event"
	"hob/daemon/llm"
	"hob/daemon/llm/llmtest"
)

// TestModelsAndChannelsThroughAProxy: [network] proxy serves models and channels, a section may do without it, its password is a reference and shown
// nowhere, and the proxies of the environment are nobody's.
func TestModelsAndChannelsThroughAProxy(t *testing.T) {
	for _, socks := range []bool{false, true} {
		p := channelstest.NewProxy(t, socks)
		thinks := llmtest.NewServer()
		t.Cleanup(thinks.Close)
		thinks.Otherwise(func(llmtest.Request) llmtest.Turn { return llmtest.Streamed(llm.Answer{Text: "through it"}) })
		var servers [2]*channelstest.Ntfy
		for i := range servers {
			f, err := channelstest.NewNtfy("")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(f.Close)
			servers[i] = f
		}
		alerts, near := servers[0], servers[1]
		t.Setenv("PROXY_PASSWORD", "s3cret/@")
		t.Setenv("HTTP_PROXY", "http://127.0.0.1:9")
		home := t.TempDir()
		write(t, home, fmt.Sprintf("[network]\nproxy = %q\n[model]\nbackend = \"compatible\"\nmodel = \"m\"\nbase_url = %q\n"+
			"[channels.alerts]\nkind = \"ntfy\"\nserver = %q\ntopic = \"far\"\nreceive = false\n[channels.near]\nkind = \"ntfy\"\nserver = %q\ntopic = \"near\"\nreceive = false\nproxy = \"none\"\n",
			p.URL("env:PROXY_PASSWORD"), thinks.URL, alerts.URL(), near.URL()))
		r := start(t, home)
		if got := r.say("hello"); got != "through it" {
			t.Errorf("the model says %q", got)
		}
		for _, to := range []string{"alerts:far", "near:near"} {
			if _, err := client.Do(t.Context(), r.client, api.SendText, "", api.Outgoing{To: to, Text: "hello"}); err != nil {
				t.Fatal(err)
			}
		}
		r.until("both messages", func() bool { return len(alerts.Received()) == 1 && len(near.Received()) == 1 })
		asked := strings.Join(p.Asked(), " ")
		for at, want := range map[string]bool{thinks.URL: true, alerts.URL(): true, near.URL(): false} {
			host := strings.SplitN(strings.TrimPrefix(at, "http://"), "/", 2)[0]
			if strings.Contains(asked, host) != want {
				t.Errorf("the proxy was asked for %q; want %s among it: %v", asked, host, want)
			}
		}
		p.Close()
		rows, err := client.List(t.Context(), r.client, api.Channels.Raw(), event.Filter{})
		if err != nil || len(rows) == 0 || strings.Contains(fmt.Sprintf("%s", rows), "s3cret") {
			t.Errorf("%s, %v", rows, err)
		}
		trial, err := client.Do(t.Context(), r.client, api.Verb[api.TestMessage, json.RawMessage](api.TestChannel), "alerts", api.TestMessage{})
		if err != nil || !strings.Contains(string(trial), "through the proxy") || strings.Contains(string(trial), "s3cret") {
			t.Errorf("a test of the channel says %s, %v", trial, err)
		}
		if err := r.stop(); err != nil {
			t.Error(err)
		}
	}
}

// TestAccountsThroughAProxy: each kind of account asks its service through [network] proxy, which a reload changes, and a server in the owner's network
// directly.
func TestAccountsThroughAProxy(t *testing.T) {
	t.Setenv("PROXY_PASSWORD", "s3cret/@")
	service := httptest.NewTLSServer(http.NotFoundHandler())
	service.Config.ErrorLog = log.New(io.Discard, "", 0) // hob does not trust its certificate
	t.Cleanup(service.Close)
	p, at := channelstest.NewProxy(t, false), service.Listener.Addr().String()
	p.Names(map[string]string{"dav.example.org:443": at, "api.anthropic.com:443": at, "www.linkedin.com:443": at, "oauth2.googleapis.com:443": at})
	home := t.TempDir()
	write(t, home, fmt.Sprintf("[network]\nproxy = %q\n", p.URL("env:PROXY_PASSWORD")))
	r := start(t, home)
	add := func(kind string, values map[string]string) (api.LinkedAccount, error) {
		return client.Do(t.Context(), r.client, api.AddAccount, kind, api.AccountValues{Values: values})
	}
	calendar := map[string]string{"url": "https://dav.example.org", "user": caldavtest.User, "password": caldavtest.Password}
	for kind, values := range map[string]map[string]string{"caldav": calendar, "linkedin": {}, "anthropic_usage": {"key": "sk-ant-admin01-x"}} {
		if _, err := add(kind, values); err == nil || !strings.Contains(err.Error(), "certificate") {
			t.Errorf("%s: %v", kind, err)
		}
	}
	if _, err := add("google", map[string]string{"client-id": googletest.ClientID, "client-secret": googletest.ClientSecret}); err != nil {
		t.Fatal(err)
	}
	begun, err := client.Do(t.Context(), r.client, api.BeginAccountLogin, "google", api.None{})
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(begun.Note, "CAUTION") {
		t.Errorf("a warning about Google's own addresses: %s", begun.Note)
	}
	link, err := url.Parse(begun.Address)
	if err != nil {
		t.Fatal(err)
	}
	back := link.Query().Get("redirect_uri") + "?code=x&state=" + link.Query().Get("state")
	if _, err := client.Do(t.Context(), r.client, api.FinishAccountLogin, "google", api.SignInAddress{Address: back}); err == nil {
		t.Error("a certificate that nobody trusts was accepted")
	}
	if _, err := client.Do(t.Context(), r.client, api.CancelAccountLogin, "google", api.None{}); err != nil { // the port is free for other tests
		t.Fatal(err)
	}
	if got := strings.Join(p.Asked(), " "); got != "api.anthropic.com:443 dav.example.org:443 oauth2.googleapis.com:443 www.linkedin.com:443" {
		t.Fatalf("the proxy was asked for %q", got)
	}

	near := caldavtest.NewServer()
	t.Cleanup(near.Close)
	r.withAccount(near.URL)
	if got := p.Asked(); len(got) != 4 {
		t.Errorf("the proxy was asked for %q", got)
	}
	write(t, home, fmt.Sprintf("[network]\nproxy = %q\n", p.URL("wrong")))
	r.until("the proxy's refusal", func() bool {
		_, err := add("caldav", calendar)
		return err != nil && strings.Contains(err.Error(), "through the proxy") && !strings.Contains(err.Error(), "wrong@")
	})
}

// TestMCPServersThroughAProxy: an MCP server on the network is asked through [network] proxy, and one on this machine directly.
func TestMCPServersThroughAProxy(t *testing.T) {
	t.Setenv("PROXY_PASSWORD", "s3cret/@")
	service := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(service.Close)
	p := channelstest.NewProxy(t, false)
	p.Names(map[string]string{"mcp.example.org:80": service.Listener.Addr().String()})
	home := t.TempDir()
	write(t, home, fmt.Sprintf("[network]\nproxy = %q\n[mcp.servers.far]\nurl = \"http://mcp.example.org/mcp\"\n[mcp.servers.near]\nurl = %q\n", p.URL("env:PROXY_PASSWORD"), service.URL))
	r := start(t, home)
	for name, proxied := range map[string]bool{"near": false, "far": true} {
		before := len(p.Asked())
		_, err := client.Do(t.Context(), r.client, api.TestMCP, name, api.None{})
		if err == nil || !strings.Contains(err.Error(), "Not Found") {
			t.Errorf("%s: %v", name, err)
		}
		if got := p.Asked()[before:]; (len(got) > 0) != proxied {
			t.Errorf("%s: the proxy was asked for %q", name, got)
		}
	}
	write(t, home, "[network]\nproxy = \"http://127.0.0.1:9\"\n[mcp.servers.far]\nurl = \"http://mcp.example.org/mcp\"\n")
	r.until("an error that names the proxy", func() bool {
		_, err := client.Do(t.Context(), r.client, api.TestMCP, "far", api.None{})
		return err != nil && strings.Contains(err.Error(), "through the proxy 127.0.0.1:9: ")
	})
}

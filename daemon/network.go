package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"

	"hob/channels"
	"hob/config"
	"hob/daemon/netguard"
	"hob/daemon/record"
	"hob/daemon/secret"
	"hob/daemon/transcribe"
)

// network resolves references to secrets, and makes the HTTP clients that go through the proxies of the config.
// It reads the config at each use, so a reload applies to the next request.
type network struct {
	config   func() *config.Snapshot
	recorder *record.Recorder // may write what models and channels send and get
	secrets  *secret.Redactor
	home     string
	direct   *http.Client // where the config names no proxy
	log      *slog.Logger
}

// resolve returns the value of a secret reference and keeps it out of logs from then on.
func (n *network) resolve(ctx context.Context, name, ref string) (string, error) {
	return secret.Resolver{Redact: n.secrets, Home: n.home, Warn: func(text string) { n.log.Warn("secret", "problem", text) }}.Resolve(ctx, name, ref)
}

// learn makes the secrets of the config known before anything uses them: what is indexed must not hold one that is needed only later. A
// keyring is not unlocked and no command is run for it, and what cannot be read is reported by the part that needs it.
func (n *network) learn(ctx context.Context) {
	for _, s := range n.config().Secrets {
		if !strings.HasPrefix(s.Value, "keyring:") && !strings.HasPrefix(s.Value, "cmd:") {
			_, _ = secret.Resolver{Redact: n.secrets, Home: n.home}.Resolve(ctx, s.Name, s.Value)
		}
	}
}

// proxy returns the proxy of a section: its own, else the common one. The password of a proxy is a secret.
// section names the place for errors and for the names of secrets; own is the proxy that the section sets, or "".
func (n *network) proxy(ctx context.Context, section, own string) (p netguard.Proxy, err error) {
	address := own
	if address == "" {
		section, address = "network", n.config().Network.Proxy
	}
	name := section + ".proxy"
	// The whole address may be a reference (env:PROXY), or only its password.
	if secret.IsReference(address) {
		if address, err = n.resolve(ctx, name, address); err != nil {
			return p, err
		}
	}
	if password, put := netguard.Password(address); put != nil {
		// Its value is added to the redactor, and the address gets it only in memory.
		if secret.IsReference(password) {
			if password, err = n.resolve(ctx, name+".password", password); err != nil {
				return p, err
			}
		}
		n.secrets.Add(name+".password", password)
		address = put(password)
	}
	return netguard.NewProxy(address)
}

// common returns the common proxy that the config names at that moment; it serves every host.
func (n *network) common(ctx context.Context, _ string) (netguard.Proxy, error) {
	p, err := n.proxy(ctx, "network", "")
	if err != nil {
		return p, fmt.Errorf("network.proxy: %w", err)
	}
	return p, nil
}

// client returns a client for the servers of a section; nil if no proxy is configured for it.
// It has no timeout: the caller's context ends a request, and answers of models may take minutes.
func (n *network) client(ctx context.Context, section, own string) (*http.Client, error) {
	p, err := n.proxy(ctx, section, own)
	if err != nil || p.None() {
		return nil, err
	}
	return &http.Client{Transport: p.Transport()}, nil
}

// RoundTrip sends a request through the common proxy that the config names at that moment. It serves an account, which outlives changes of the config.
func (n *network) RoundTrip(req *http.Request) (*http.Response, error) {
	web, err := n.client(req.Context(), "network", "")
	if err != nil {
		return nil, fmt.Errorf("network.proxy: %w", err)
	}
	if web == nil {
		web = n.direct
	}
	return web.Transport.RoundTrip(req)
}

// channel puts into a channel's environment how it reaches its servers.
func (n *network) channel(ctx context.Context, c config.Channel, env *channels.Env) error {
	p, err := n.proxy(ctx, "channels."+c.Name, c.Proxy)
	if err != nil {
		return fmt.Errorf("channels.%s: proxy: %w", c.Name, err)
	}
	env.Dial = p.DialContext
	way := n.direct.Transport
	if !p.None() {
		way = p.Transport()
	}
	subject := "channels." + c.Name
	env.HTTP = &http.Client{Timeout: n.direct.Timeout, Transport: n.recorder.Web(subject, way)}
	env.Frame = func(sent bool, text []byte) {
		what := record.Received
		if sent {
			what = record.Sent
		}
		n.recorder.Line(subject, what, text)
	}
	return nil
}

// transcription returns the server for voice notes that the config names at that moment.
func (n *network) transcription(ctx context.Context) (transcribe.Endpoint, error) {
	web, err := n.client(ctx, "voice", "")
	if err != nil {
		return transcribe.Endpoint{}, fmt.Errorf("network.proxy: %w", err)
	}
	if web == nil {
		web = n.direct
	}
	return transcribe.Of(ctx, n.config(), n.resolve, web)
}

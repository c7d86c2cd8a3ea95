package openai

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"hob/daemon/llm"
	"hob/daemon/llm/wire"
)

// patience is the time that a local server has to answer.
const patience = 2 * time.Second

// Probe configures Discover. The zero value looks at the usual ports.
type Probe struct {
	Ports []int               // on 127.0.0.1; nil: the result of Ports
	Env   func(string) string // environment lookup, for a further port in OLLAMA_HOST; nil: not used
	Wait  time.Duration       // limit for each server; 0: 2 s
	Log   *slog.Logger        // receives programming errors; nil: discards them
}

// Ports returns the default ports of common local model servers.
func Ports() []int {
	return []int{
		1234,  // LM Studio
		11434, // ollama
		8080,  // llama.cpp, LocalAI, MLX
		8000,  // vLLM
		1337,  // Jan
		5000,  // text-generation-webui, TabbyAPI
		5001,  // KoboldCpp
		4891,  // GPT4All
		30000, // SGLang
	}
}

// Discover asks all ports at the same time and returns the servers that list models, in the order of the ports; the one of OLLAMA_HOST
// comes last. It connects to this machine only. A server that lists no models gets one request.
func Discover(ctx context.Context, p Probe) []llm.Found {
	places := p.places()
	log := p.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	client := loopbackClient()
	defer client.CloseIdleConnections()
	found := make([]*llm.Found, len(places))
	// Each port has its own time limit, so the whole search takes little longer than the slowest answer.
	err := each(log, "look for a model server", len(places), len(places), func(i int) {
		inner, stop := context.WithTimeout(ctx, cmp.Or(p.Wait, patience))
		defer stop()
		found[i] = look(inner, client, places[i])
	})
	if err != nil {
		log.Error("looking for model servers", "err", err)
	}
	// Keep the order of the places.
	var all []llm.Found
	for _, f := range found {
		if f != nil {
			all = append(all, *f)
		}
	}
	return all
}

// places returns the addresses to ask, without duplicates.
func (p Probe) places() []netip.AddrPort {
	ports := p.Ports
	if ports == nil {
		ports = Ports()
	}
	var all []netip.AddrPort
	add := func(place netip.AddrPort, ok bool) {
		if ok && !slices.Contains(all, place) {
			all = append(all, place)
		}
	}
	for _, port := range ports {
		add(at(here(), strconv.Itoa(port)))
	}
	if p.Env != nil {
		add(ollamaHost(p.Env("OLLAMA_HOST")))
	}
	return all
}

// ollamaHost parses OLLAMA_HOST: a scheme, a host and a port, each optional (ollama's source, envconfig/config.go). A server on all
// addresses is reachable on this machine too; a server on another machine is ignored.
func ollamaHost(value string) (netip.AddrPort, bool) {
	value = strings.Trim(strings.TrimSpace(value), `"'`)
	scheme, rest, ok := strings.Cut(value, "://")
	port := "11434"
	switch {
	case !ok:
		rest = value
	case scheme == "http":
		port = "80"
	default:
		return netip.AddrPort{}, false
	}
	host := strings.TrimRight(rest, "/")
	// SplitHostPort fails when there is no port; then the whole text is the host.
	if h, p, err := net.SplitHostPort(host); err == nil {
		host, port = h, p
	}
	addr, ok := loopback(strings.Trim(host, "[]"))
	if value == "" || !ok {
		return netip.AddrPort{}, false
	}
	return at(addr, port)
}

// here returns the address of servers that serve this machine only.
func here() netip.Addr { return netip.AddrFrom4([4]byte{127, 0, 0, 1}) }

// at combines an address and a port; port 0 is invalid.
func at(addr netip.Addr, port string) (netip.AddrPort, bool) {
	place, err := netip.ParseAddrPort(net.JoinHostPort(addr.String(), port))
	return place, err == nil && place.Port() != 0
}

// loopback returns the local address that a host name or address means. It asks no name server.
func loopback(host string) (netip.Addr, bool) {
	if host == "" || strings.EqualFold(host, "localhost") {
		return here(), true
	}
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return netip.Addr{}, false
	}
	if addr.IsUnspecified() {
		return here(), true
	}
	return addr.Unmap(), addr.Unmap().IsLoopback()
}

// loopbackClient returns a client that can connect to this machine only, and uses no proxy.
func loopbackClient() *http.Client {
	// Control runs after names are resolved and before the connection, so a name that points to another machine fails too.
	dialer := net.Dialer{Control: func(_, address string, _ syscall.RawConn) error {
		place, err := netip.ParseAddrPort(address)
		if err != nil || !place.Addr().IsLoopback() {
			return fmt.Errorf("connect to %s: it is not this machine", address)
		}
		return nil
	}}
	return &http.Client{Transport: &http.Transport{DialContext: dialer.DialContext}}
}

// look asks one address for its models. It returns nil when no model server answers there.
func look(ctx context.Context, client *http.Client, place netip.AddrPort) *llm.Found {
	base := url.URL{Scheme: "http", Host: place.String(), Path: "/v1"}
	a, err := newAsker(llm.Config{Provider: compatible, BaseURL: base.String(), HTTP: client})
	if err != nil {
		return nil
	}
	// Every kind of model server has this list. Another program gets no further request.
	l, ok := a.ownList(ctx, "/v1/models")
	if !ok || !l.real() {
		return nil
	}
	c, f := wire.NewCollection(), &llm.Found{Backend: compatible, BaseURL: base.String()}
	for _, m := range rows[wireModel](l.Data) {
		c.Add(m.entry(compatible))
	}
	// Ask for more in the server's own protocol. Many servers imitate ollama's, so its greeting is checked first.
	switch {
	case a.isOllama(ctx):
		f.Backend = ollama
		a.addTags(ctx, c)
	case a.addLMStudio(ctx, c):
		f.Backend = lmStudio
	}
	f.Models = c.Entries()
	return f
}

// real reports whether the list has exactly the documented form. Other local services may answer with something similar.
func (l wireList) real() bool {
	if l.Object != "list" {
		return false
	}
	// rows drops what is no object, so an equal length means that every row was one.
	models := rows[wireModel](l.Data)
	return len(models) == len(l.Data) && !slices.ContainsFunc(models, func(m wireModel) bool { return m.ID == "" })
}

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
)

// patience is how long a server on this machine may take to show what it is.
const patience = 300 * time.Millisecond

// Probe says where to look for servers on this machine. The zero value looks at the usual ports.
type Probe struct {
	Ports []int               // on 127.0.0.1; nil: those of Ports
	Env   func(string) string // looks up the environment, whose OLLAMA_HOST may name one more port; nil: it is not asked
	Wait  time.Duration       // for each server; 0: 300 ms
	Log   *slog.Logger        // is told of mistakes in here; nil: nothing is
}

// Found is a server on this machine and what it serves.
type Found struct {
	Backend string      `json:"backend"` // lmstudio, ollama or compatible
	BaseURL string      `json:"base_url"`
	Models  []llm.Entry `json:"models"`
}

// Ports are where the servers that people run at home listen unless they are told otherwise.
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

// Discover looks at all ports at once, and returns the servers that list models, in the order of the ports, the one of
// OLLAMA_HOST last. It speaks to this machine alone, and to a server that lists no models only once.
func Discover(ctx context.Context, p Probe) []Found {
	places := p.places()
	log := p.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	client := loopbackClient()
	defer client.CloseIdleConnections()
	found := make([]*Found, len(places))
	err := each(log, "look for a model server", len(places), len(places), func(i int) {
		inner, stop := context.WithTimeout(ctx, cmp.Or(p.Wait, patience))
		defer stop()
		found[i] = look(inner, client, places[i])
	})
	if err != nil {
		log.Error("looking for model servers", "err", err)
	}
	var all []Found
	for _, f := range found {
		if f != nil {
			all = append(all, *f)
		}
	}
	return all
}

// places are the addresses to look at, each once.
func (p Probe) places() []netip.AddrPort {
	ports := p.Ports
	if ports == nil {
		ports = Ports()
	}
	var all []netip.AddrPort
	for _, port := range ports {
		if place, ok := at(here(), strconv.Itoa(port)); ok {
			all = append(all, place)
		}
	}
	if p.Env != nil {
		if place, ok := ollamaHost(p.Env("OLLAMA_HOST")); ok {
			all = append(all, place)
		}
	}
	var once []netip.AddrPort
	for _, place := range all {
		if !slices.Contains(once, place) {
			once = append(once, place)
		}
	}
	return once
}

// ollamaHost reads OLLAMA_HOST, which has a scheme, a host and a port or leaves some of them out (ollama's source,
// envconfig/config.go). A server that listens on all addresses listens on this one too; one on another machine is none of ours.
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
	if h, p, err := net.SplitHostPort(host); err == nil {
		host, port = h, p
	}
	addr, ok := loopback(strings.Trim(host, "[]"))
	if value == "" || !ok {
		return netip.AddrPort{}, false
	}
	return at(addr, port)
}

// here is where servers listen that are meant for this machine alone.
func here() netip.Addr { return netip.AddrFrom4([4]byte{127, 0, 0, 1}) }

func at(addr netip.Addr, port string) (netip.AddrPort, bool) {
	place, err := netip.ParseAddrPort(net.JoinHostPort(addr.String(), port))
	return place, err == nil && place.Port() != 0
}

// loopback is the address of this machine that a host name or address means, without asking any name server.
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

// loopbackClient connects to this machine and nowhere else, also not through a proxy.
func loopbackClient() *http.Client {
	dialer := net.Dialer{Control: func(_, address string, _ syscall.RawConn) error {
		place, err := netip.ParseAddrPort(address)
		if err != nil || !place.Addr().IsLoopback() {
			return fmt.Errorf("connect to %s: it is not this machine", address)
		}
		return nil
	}}
	return &http.Client{Transport: &http.Transport{DialContext: dialer.DialContext}}
}

// look asks what one address serves; nil when that is no models.
func look(ctx context.Context, client *http.Client, place netip.AddrPort) *Found {
	base := url.URL{Scheme: "http", Host: place.String(), Path: "/v1"}
	a, err := newAsker(llm.Config{Provider: compatible, BaseURL: base.String(), HTTP: client})
	if err != nil {
		return nil
	}
	l, ok := a.ownList(ctx, "/v1/models")
	if !ok || !l.real() {
		return nil
	}
	c, f := newCollection(), &Found{Backend: compatible, BaseURL: base.String()}
	for _, m := range rows[wireModel](l.Data) {
		c.add(m.entry(compatible))
	}
	switch {
	case a.isOllama(ctx):
		f.Backend = ollama
		a.addTags(ctx, c)
	case a.addLMStudio(ctx, c):
		f.Backend = lmStudio
	}
	f.Models = c.entries()
	return f
}

// real reports whether it is the very form of a list of models, and not just a document that looks a little like it.
func (l wireList) real() bool {
	if l.Object != "list" {
		return false
	}
	models := rows[wireModel](l.Data)
	return len(models) == len(l.Data) && !slices.ContainsFunc(models, func(m wireModel) bool { return m.ID == "" })
}

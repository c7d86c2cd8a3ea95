package openai_test

import (
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"hob/daemon/llm"
	"hob/daemon/llm/openai"
)

// port is where a fake listens.
func port(t *testing.T, f *fake) int {
	t.Helper()
	u, err := url.Parse(f.URL)
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(u.Port())
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// discover looks at these fakes, with patience: the machine may be busy.
func discover(t *testing.T, env string, fakes ...*fake) []llm.Found {
	t.Helper()
	ports := []int{}
	for _, f := range fakes {
		ports = append(ports, port(t, f))
	}
	return openai.Discover(t.Context(), openai.Probe{Ports: ports, Wait: 10 * time.Second, Env: func(name string) string {
		return map[string]string{"OLLAMA_HOST": env}[name]
	}})
}

func TestDiscover(t *testing.T) {
	const llamaCpp = `{"models":[{"name":"a.gguf","capabilities":["completion"]}],"object":"list",
		"data":[{"id":"a.gguf","object":"model","owned_by":"llamacpp","meta":{"n_ctx_train":8192,"size":1000}}]}`
	pages := func(more map[string]string) map[string]string {
		all := map[string]string{"GET /": "hello", "GET /api/tags": ollamaTags, "GET /api/version": `{"version":"0.7.0"}`}
		maps.Copy(all, more)
		return all
	}
	servers := []struct {
		name    string
		pages   map[string]string
		backend string // empty: it does not count
		models  string
	}{
		{"LM Studio 0.3", map[string]string{"GET /v1/models": studioModels, "GET /": studioNo, "GET /api/v1/models": studioNo, "GET /api/v0/models": studio0}, "lmstudio", "meta-llama-3.1-8b-instruct qwen2-vl-7b-instruct"},
		{"LM Studio 0.4", map[string]string{"GET /v1/models": `{"object":"list","data":[]}`, "GET /": studioNo, "GET /api/v1/models": `{"models":[]}`}, "lmstudio", ""},
		{"ollama", map[string]string{"GET /v1/models": ollamaModels, "GET /": "Ollama is running", "GET /api/tags": ollamaTags}, "ollama", "all-minilm:latest llama3:latest"},
		{"ollama without models", map[string]string{"GET /v1/models": `{"object":"list","data":null}`, "GET /": "Ollama is running\n"}, "ollama", ""},
		{"llama.cpp", map[string]string{"GET /v1/models": llamaCpp, "GET /": "<html>"}, "compatible", "a.gguf"},
		{"one that imitates ollama", pages(map[string]string{"GET /v1/models": openAIModels}), "compatible", "gpt-a gpt-b"},
		{"one with the common list at other addresses", map[string]string{"GET /v1/models": openAIModels, "GET /api/v1/models": openAIModels, "GET /api/v0/models": openAIModels}, "compatible", "gpt-a gpt-b"},
		{"a web server", pages(nil), "", ""},
		{"a web application", map[string]string{"GET /v1/models": "<!doctype html>"}, "", ""},
		{"an API that knows everything", map[string]string{"GET /v1/models": `{"data":[]}`}, "", ""},
		{"another API's models", map[string]string{"GET /v1/models": `{"object":"list","data":[{"id":1,"name":"Model T"}]}`}, "", ""},
		{"another API's list", map[string]string{"GET /v1/models": `{"object":"list","data":["a"]}`}, "", ""},
	}
	var fakes []*fake
	for _, s := range servers {
		fakes = append(fakes, serveLists(t, s.pages))
	}
	found := discover(t, "", fakes...)
	for i, s := range servers {
		base := fmt.Sprintf("http://127.0.0.1:%d/v1", port(t, fakes[i]))
		at := slices.IndexFunc(found, func(f llm.Found) bool { return f.BaseURL == base })
		switch {
		case s.backend == "" && at >= 0:
			t.Errorf("%s counts: %+v", s.name, found[at])
		case s.backend == "" && len(fakes[i].asked()) != 1:
			t.Errorf("%s was asked %v", s.name, fakes[i].asked())
		case s.backend != "" && (at < 0 || found[at].Backend != s.backend || ids(found[at].Models) != s.models):
			t.Errorf("%s is not found as it should be: %+v", s.name, found)
		}
	}
	if got := len(found); got != 7 || found[0].Backend != "lmstudio" || found[6].Backend != "compatible" {
		t.Errorf("%d servers, not in the order of the ports: %+v", got, found)
	}
}

func TestDiscoverNobody(t *testing.T) {
	f := serveLists(t, nil)
	f.Close()
	if found := discover(t, "", f); found != nil {
		t.Errorf("found %+v", found)
	}
}

// A server that says nothing costs its patience of 2 s and no more.
func TestDiscoverSilence(t *testing.T) {
	f := serveBy(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	start := time.Now()
	found := openai.Discover(t.Context(), openai.Probe{Ports: []int{port(t, f)}})
	if took := time.Since(start); found != nil || took < 2*time.Second || took > 30*time.Second {
		t.Errorf("found %+v after %v", found, took)
	}
}

func TestDiscoverFollowsNobody(t *testing.T) {
	other := serveLists(t, map[string]string{"GET /v1/models": openAIModels})
	f := serveBy(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL+"/v1/models", http.StatusFound)
	})
	if found := discover(t, "", f); found != nil || len(other.asked()) != 0 {
		t.Errorf("found %+v, and the other was asked %v", found, other.asked())
	}
}

func TestOllamaHostIsLookedAt(t *testing.T) {
	f := ollamaServer(t)
	found := discover(t, fmt.Sprintf("0.0.0.0:%d", port(t, f)))
	if len(found) != 1 || found[0].Backend != "ollama" || found[0].BaseURL != f.URL+"/v1" {
		t.Errorf("found %+v", found)
	}
	if found := discover(t, f.URL, f); len(found) != 1 {
		t.Errorf("the same port is named twice: %+v", found)
	}
}

func TestPlaces(t *testing.T) {
	for env, want := range map[string]string{
		"":                         "",
		`""`:                       "",
		"127.0.0.1:4000":           "127.0.0.1:4000",
		" '127.0.0.1:4000' ":       "127.0.0.1:4000",
		"http://localhost:4000/":   "127.0.0.1:4000",
		"LocalHost":                "127.0.0.1:11434",
		"http://127.0.0.1":         "127.0.0.1:80",
		":4000":                    "127.0.0.1:4000",
		"0.0.0.0":                  "127.0.0.1:11434",
		"[::]:4000":                "127.0.0.1:4000",
		"::1":                      "[::1]:11434",
		"[::1]:4000":               "[::1]:4000",
		"[::ffff:127.0.0.1]:4000":  "127.0.0.1:4000",
		"127.1.2.3:4000":           "127.1.2.3:4000",
		"https://localhost:4000":   "", // no such server speaks TLS by itself
		"192.0.2.1:4000":           "",
		"example.com:4000":         "",
		"localhost.example.com:80": "",
		"127.0.0.1.example.com":    "",
		"127.0.0.1:0":              "",
		"127.0.0.1:70000":          "",
		"127.0.0.1:http":           "",
		"127.0.0.1:4000/v1":        "",
		"user@127.0.0.1:4000":      "",
		"0x7f000001:4000":          "",
	} {
		var got []string
		for _, place := range openai.Places(openai.Probe{Ports: []int{}, Env: func(string) string { return env }}) {
			got = append(got, place.String())
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: %v, want %q", env, got, want)
		}
	}
	ports := openai.Places(openai.Probe{Ports: []int{-1, 0, 80, 80, 70000, 65535}})
	if got := fmt.Sprint(ports); got != "[127.0.0.1:80 127.0.0.1:65535]" {
		t.Errorf("got %s", got)
	}
	if all := openai.Places(openai.Probe{}); len(all) != len(openai.Ports()) || all[0].String() != "127.0.0.1:1234" {
		t.Errorf("the usual places: %v", all)
	}
}

// Whatever address the client is given, it connects to this machine only. 192.0.2.1 is nobody's (RFC 5737).
func TestTheClientStaysHere(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://192.0.2.1:1")
	client := openai.LoopbackClient()
	defer client.CloseIdleConnections()
	for _, address := range []string{"http://192.0.2.1:80/", "http://[2001:db8::1]:80/", "http://0.0.0.0:80/"} {
		res, err := client.Get(address)
		if err == nil {
			_ = res.Body.Close() // the test has failed anyhow
		}
		if err == nil || !strings.Contains(err.Error(), "not this machine") {
			t.Errorf("%s: %v", address, err)
		}
	}
	f := serveLists(t, map[string]string{"GET /": "hello"})
	res, err := client.Get("http://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(port(t, f))))
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close() // only that it came matters
}

package config

import (
	"net/netip"
	"net/url"

	"hob/config/schema"
	"hob/daemon/netguard"
	"hob/daemon/secret"
	"hob/daemon/sys"
)

// ToolWeb is [tools.web]: the search engine of the web tools, and the secrets that they may send. When the section is off, Tools.Deny
// contains "web_search", which would ask another engine than the owner intended.
type ToolWeb struct {
	Search    string               `toml:"search"`     // searxng, brave, tavily or duckduckgo (default)
	SearchURL string               `toml:"search_url"` // "": the engine's default
	SearchKey string               `toml:"search_key"` // the key, or a reference to it (see daemon/secret)
	Networks  []string             `toml:"networks"`   // CIDR notation: private networks that public names may resolve to
	Secrets   map[string]WebSecret `toml:"secrets"`    // by the name that a header uses
}

// WebSecret is one of [tools.web.secrets]: a secret that the tool http may send to certain hosts.
type WebSecret struct {
	Secret string   `toml:"secret"` // a reference; never the secret itself, because the config is shown
	Hosts  []string `toml:"hosts"`  // exact host names
}

// Prefixes returns Networks in parsed form.
// checkToolWeb has dropped the networks that cannot be parsed.
func (w ToolWeb) Prefixes() []netip.Prefix {
	var all []netip.Prefix
	for _, text := range w.Networks {
		if p, err := netip.ParsePrefix(text); err == nil {
			all = append(all, p.Masked())
		}
	}
	return all
}

// webSecretName matches a name after "secret:" in a header.
var webSecretName = sys.Regexp(`^[A-Za-z0-9_-]+$`)

// checkToolWeb drops wrong networks. Any other mistake switches the section off.
func checkToolWeb(c *checks, w *ToolWeb) {
	u, err := url.Parse(w.SearchURL)
	if w.SearchURL != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		c.wrong("search_url", "want an address like https://searx.example.org, found %q", w.SearchURL)
	}
	var good []string
	for i, text := range w.Networks {
		if _, err := netip.ParsePrefix(text); err != nil {
			c.dropped("networks", i, "want a network like \"192.168.1.0/24\", found %q", text)
			continue
		}
		good = append(good, text)
	}
	w.Networks = good
	for _, name := range sorted(keysOf(w.Secrets)) {
		checkWebSecret(c, name, w.Secrets[name])
	}
}

// checkWebSecret reports mistakes without the value, which may be a secret.
func checkWebSecret(c *checks, name string, s WebSecret) {
	at := c.at("secrets").child(name)
	wrong := func(text string) {
		c.add(at, at.value, "tools.web.secrets."+name, "secrets."+name+": "+text, `for example { secret = "env:API_TOKEN", hosts = ["api.example.org"] }`, true)
	}
	switch {
	case !webSecretName().MatchString(name):
		wrong("a name of a secret has letters, digits, - and _ only")
	case !secret.IsReference(s.Secret):
		wrong("secret: want a reference (env:, file:, keyring:, cmd:), not the secret itself")
	case len(s.Hosts) == 0:
		wrong("hosts: want the names of the hosts that it may be sent to")
	}
	for _, h := range s.Hosts {
		if _, host, err := netguard.Canonical("https://" + h + "/"); err != nil || host != h {
			wrong("hosts: want names like \"api.example.org\", in lower case and without a port")
		}
	}
}

// webNotes describes the keys of [tools.web].
func webNotes() []schema.Note {
	return []schema.Note{
		{Name: "search", Words: []string{"searxng", "brave", "tavily", "duckduckgo"}, Example: `"searxng"`, Doc: "The engine of `web_search`; `brave` and `tavily` need a key, `searxng` an address."},
		{Name: "search_url", Unset: "the engine's own", Example: `"https://searx.example.org"`, Pattern: `^$|^https?://.+`, Doc: "The engine's address; it may be in a private network."},
		{Name: "search_key", Unset: "none", Example: `"env:SEARCH_KEY"`, Doc: "The key for the engine: a reference to a secret, or the key itself."},
		{Name: "networks", Example: `["192.168.1.0/24"]`, Pattern: `^[0-9A-Fa-f.:]+/[0-9]{1,3}$`, Doc: "Private networks that the web tools may reach through a public name; a host with a private name or address still needs your approval."},
		{
			Name: "secrets", Unset: "none", Example: `{ api = { secret = "env:API_TOKEN", hosts = ["api.example.org"] } }`,
			Doc: "Values for `secret:NAME` in a header of the tool `http`, and the exact hosts that may receive them.",
		},
	}
}

package config

import (
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// checks looks at the values of one section after it was decoded.
type checks struct {
	*decoder
	node *node
}

// given reports whether a key stands in the section.
func (c *checks) given(key string) bool { return c.node.child(key) != nil }

// wrong switches the section off because of one key.
func (c *checks) wrong(key, format string, args ...any) {
	c.note(key, c.at(key), true, fmt.Sprintf(format, args...))
}

// dropped passes over one element of a list and keeps the rest.
func (c *checks) dropped(key string, i int, format string, args ...any) {
	c.note(key, c.at(key).element(i), false, fmt.Sprintf(format, args...))
}

func (c *checks) note(key string, at *node, fatal bool, text string) {
	c.add(at, at.value, c.section+"."+key, key+": "+text, "", fatal)
}

func (c *checks) at(key string) *node {
	if n := c.node.child(key); n != nil {
		return n
	}
	return c.node
}

// element is the i-th element of a list, else the whole.
func (n *node) element(i int) *node {
	if n != nil && i < len(n.list) {
		return n.list[i]
	}
	return n
}

func (c *checks) atLeast(key string, least, value int64) {
	if c.given(key) && value < least {
		c.wrong(key, "want %d or more, found %d", least, value)
	}
}

func (c *checks) oneOf(key, value string, words ...string) {
	if c.given(key) && !slices.Contains(words, value) {
		c.wrong(key, "want one of %s, found %q", strings.Join(words, ", "), value)
	}
}

func checkModel(c *checks, m *Model) {
	c.atLeast("max_output_tokens", 1, int64(m.MaxOutputTokens))
	c.atLeast("context_tokens", 1, int64(m.ContextTokens))
	if m.ContextTokens > 0 && m.MaxOutputTokens >= m.ContextTokens {
		c.wrong("max_output_tokens", "want less than context_tokens (%d), found %d", m.ContextTokens, m.MaxOutputTokens)
	}
	c.oneOf("thinking", m.Thinking, "off", "minimal", "low", "medium", "high", "xhigh")
	u, err := url.Parse(m.BaseURL)
	if m.BaseURL != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		c.wrong("base_url", "want an address like https://host/v1, found %q", m.BaseURL)
	}
}

// checkOwner drops what is wrong and keeps the rest, so that the owner can still be told.
func checkOwner(c *checks, o *Owner) {
	if c.given("timezone") {
		if err := checkZone(o.Timezone); err != nil {
			c.note("timezone", c.at("timezone"), false, err.Error())
			o.Timezone = ""
		}
	}
	var good []string
	for i, a := range o.Addresses {
		channel, local, _ := strings.Cut(a, ":")
		if channel == "" || local == "" || strings.TrimSpace(a) != a {
			c.dropped("addresses", i, "want channel:address, like \"telegram:123456\", found %q", a)
			continue
		}
		good = append(good, a)
	}
	o.Addresses = good
}

// checkZone takes names of the IANA time zone database. "Local" is none: it means another zone on each machine.
func checkZone(name string) error {
	if name == "" || strings.EqualFold(name, "local") {
		return fmt.Errorf("want a zone by its name, like \"Europe/Berlin\", found %q", name)
	}
	if _, err := time.LoadLocation(name); err != nil {
		return fmt.Errorf("there is no time zone %q; want a name like \"Europe/Berlin\" or \"UTC\"", name)
	}
	return nil
}

func checkGuard(c *checks, g *Guard) { c.oneOf("mode", g.Mode, "ask", "open") }

func checkBudget(c *checks, b *Budget) {
	if b.PerDay < 0 {
		c.wrong("per_day", "want 0 or more, found %v", b.PerDay)
	}
	c.atLeast("tokens_per_day", 0, b.TokensPerDay)
}

func checkWeb(c *checks, w *Web) {
	host, port, err := net.SplitHostPort(w.Listen)
	number, bad := strconv.ParseUint(port, 10, 16)
	if err != nil || bad != nil || host == "" || strings.ContainsAny(host, " /") || number > 65535 {
		c.wrong("listen", "want host:port, like \"127.0.0.1:4620\", found %q", w.Listen)
	}
}

func checkDaemon(c *checks, d *Daemon) {
	c.atLeast("max_attempts", 1, int64(d.MaxAttempts))
	c.atLeast("safe_mode_after", 1, int64(d.SafeModeAfter))
}

func checkTurn(c *checks, t *Turn) {
	c.atLeast("max_steps", 1, int64(t.MaxSteps))
	if t.MaxRunning < time.Second {
		c.wrong("max_running", "want \"1s\" or more, found %q", t.MaxRunning)
	}
}

// toolKeys are the keys of [tools].
type toolKeys struct {
	Roots []string `toml:"roots"`
	Allow []string `toml:"allow"`
	Deny  []string `toml:"deny"`
	Exec  any      `toml:"exec"` // decoded by its owner
}

// tools reads [tools]. A bad root is dropped; any other mistake denies every tool.
func (l *loader) tools() {
	var t toolKeys
	n := l.root.child("tools")
	if !typed(l, n, "tools", &t, checkTools) {
		l.snap.Tools = Tools{Deny: []string{DenyAll}}
		return
	}
	exec := Section{Name: "exec", path: "tools.exec", file: l.file, node: n.child("exec")}
	l.snap.Tools = Tools{Roots: t.Roots, Allow: t.Allow, Deny: t.Deny, Exec: exec}
}

func checkTools(c *checks, t *toolKeys) {
	t.Roots = checkRoots(c, t.Roots)
	if n := c.node.child("exec"); n != nil && n.table == nil {
		c.wrong("exec", "want a section [tools.exec], found %s", n.kind())
	}
}

func checkRoots(c *checks, roots []string) []string {
	var good []string
	for i, r := range roots {
		colon := strings.LastIndexByte(r, ':')
		path, mode := r[:max(colon, 0)], r[colon+1:]
		home := path == "~" || strings.HasPrefix(path, "~/")
		if mode != "ro" && mode != "rw" || !home && !filepath.IsAbs(path) {
			c.dropped("roots", i, "want an absolute path, or one that begins with ~/, and :ro or :rw behind it, found %q", r)
			continue
		}
		good = append(good, r)
	}
	return good
}

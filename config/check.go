package config

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"hob/config/schema"
)

// checks validates the values of one section after it has been decoded. Each mistake becomes a Problem at the place of its key.
type checks struct {
	*decoder
	node *node
}

// given reports whether the section sets a key.
func (c *checks) given(key string) bool { return c.node.child(key) != nil }

// wrong reports a mistake in a key that switches the section off.
func (c *checks) wrong(key, format string, args ...any) {
	c.note(key, c.at(key), true, fmt.Sprintf(format, args...))
}

// dropped reports a wrong element of a list. The caller leaves it out and keeps the rest.
func (c *checks) dropped(key string, i int, format string, args ...any) {
	c.note(key, c.at(key).element(i), false, fmt.Sprintf(format, args...))
}

// note adds a problem of the section's key at a place. A fatal one switches the section off; otherwise only the value is dropped.
func (c *checks) note(key string, at *node, fatal bool, text string) {
	c.add(at, at.value, dotted(c.section, key), key+": "+text, "", fatal)
}

// at returns the node of a key, or of the section if the key is missing.
func (c *checks) at(key string) *node {
	if n := c.node.child(key); n != nil {
		return n
	}
	return c.node
}

// element returns the i-th element of a list, or n itself.
func (n *node) element(i int) *node {
	if n != nil && i < len(n.list) {
		return n.list[i]
	}
	return n
}

// limits checks the values of a section against the limits in the descriptions of its keys.
func (c *checks) limits(keys []schema.Key, n *node, v reflect.Value) {
	fields := schema.Fields(v)
	for _, k := range keys {
		child, field := n.child(last(k.Name)), fields[last(k.Name)]
		// A missing key has its default. Only given values are checked.
		if child == nil {
			continue
		}
		if k.Type == schema.Table {
			c.limits(k.Keys, child, field)
			continue
		}
		if text := k.Within(field); text != "" {
			c.note(k.Name, child, true, text)
		}
	}
}

// checkModel checks the rules that the description of a key cannot express.
func checkModel(c *checks, m *Model) {
	if m.ContextTokens > 0 && m.MaxOutputTokens >= m.ContextTokens {
		c.wrong("max_output_tokens", "want less than context_tokens (%d), found %d", m.ContextTokens, m.MaxOutputTokens)
	}
	c.baseURL(m.BaseURL)
}

// baseURL requires the address of a server's API, or "".
// It makes no request: a server that is down is no mistake in the config.
func (c *checks) baseURL(address string) {
	u, err := url.Parse(address)
	if address != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		c.wrong("base_url", "want an address like https://host/v1, found %q", address)
	}
}

// checkHeartbeat checks the active hours and the address.
func checkHeartbeat(c *checks, h *Heartbeat) {
	first, last, ok := strings.Cut(h.Active, "-")
	if h.Active != "" && (!ok || !clock(first) || !clock(last)) {
		c.wrong("active", "want hours of the day like 08:00-22:00, found %q", h.Active)
	}
	// Only the form is checked here. Whether the channel exists is not known yet.
	if channel, place, _ := strings.Cut(h.Deliver, ":"); h.Deliver != "" && h.Deliver != "owner" && h.Deliver != "none" && (channel == "" || place == "") {
		c.wrong("deliver", "want channel:address, owner or none, found %q", h.Deliver)
	}
}

// clock reports whether a text is a time of day like 08:00, or 24:00.
func clock(text string) bool {
	text = strings.TrimSpace(text)
	// time.Parse rejects 24:00, which people write for the end of a day.
	_, err := time.Parse("15:04", text)
	return err == nil || text == "24:00"
}

// checkVoice checks the address of the server, the language and the model.
func checkVoice(c *checks, v *Voice) {
	c.baseURL(v.BaseURL)
	if n := len(v.Language); n > 0 && (n < 2 || n > 3 || strings.Trim(v.Language, "abcdefghijklmnopqrstuvwxyz") != "") {
		c.wrong("language", "want the code of a language, like de or en, found %q", v.Language)
	}
	if v.Model == "" {
		c.wrong("model", "want the name of a model, like whisper-1")
	}
}

// checkOwner drops wrong values and keeps the rest, so that hob can still reach the owner.
func checkOwner(c *checks, o *Owner) {
	if c.given("timezone") {
		if err := checkZone(o.Timezone); err != nil {
			c.note("timezone", c.at("timezone"), false, err.Error())
			o.Timezone = ""
		}
	}
	// Equal times could mean no quiet hours or a whole quiet day, so they are rejected.
	if from, to, _ := strings.Cut(o.Quiet, "-"); o.Quiet != "" && (!isClock(from) || !isClock(to) || from == to) {
		c.note("quiet", c.at("quiet"), false, fmt.Sprintf("want two times of the day, like \"22:00-07:00\", found %q", o.Quiet))
		o.Quiet = ""
	}
	// A wrong address is left out and the others stay: the first of them receives the messages to the owner.
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

// isClock reports whether a text is a time of day in the form "07:00".
func isClock(text string) bool {
	_, err := time.Parse("15:04", text)
	// time.Parse also accepts 7:00. The length excludes it.
	return err == nil && len(text) == len("15:04")
}

// checkZone accepts names of the IANA time zone database. It rejects "Local", which means another zone on each machine.
func checkZone(name string) error {
	// LoadLocation reads "" as UTC and "Local" as the zone of the machine.
	if name == "" || strings.EqualFold(name, "local") {
		return fmt.Errorf("want a zone by its name, like \"Europe/Berlin\", found %q", name)
	}
	if _, err := time.LoadLocation(name); err != nil {
		return fmt.Errorf("there is no time zone %q; want a name like \"Europe/Berlin\" or \"UTC\"", name)
	}
	return nil
}

// checkWeb accepts only addresses of this machine.
func checkWeb(c *checks, w *Web) {
	if w.Listen == "" || isLocal(w.Listen) {
		return
	}
	at := c.at("listen")
	c.add(at, at.value, "web.listen", fmt.Sprintf("listen: want host:port of this machine only, found %q", w.Listen), `for example "127.0.0.1:4620"`, true)
}

// isLocal reports whether an address is host:port and reachable from this machine only.
func isLocal(address string) bool {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return false
	}
	// Of names only localhost counts, because another name may resolve to any address.
	// Unmap makes ::ffff:127.0.0.1 an address of IPv4.
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}

// memory reads [memory] and [memory.embeddings] separately. Without embeddings, a search compares words only.
func (l *loader) memory() {
	m := &l.snap.Memory
	keys := struct {
		Recall     bool `toml:"recall"`
		Embeddings any  `toml:"embeddings"` // read separately
	}{Recall: m.Recall}
	n := l.root.child("memory")
	// With a mistake in the section recall is off, because the line may have been meant to turn it off.
	m.Recall = typed(l, n, "memory", &keys, nil) && keys.Recall
	typed(l, n.child("embeddings"), "memory.embeddings", &m.Embeddings, func(c *checks, e *Embeddings) {
		c.baseURL(e.BaseURL)
		if e.BaseURL != "" && e.Model == "" {
			c.wrong("model", "want the name of a model, like text-embedding-3-small")
		}
	})
}

// toolKeys are the keys of [tools], without its subsections.
// Exec and Web are in it so that the decoder does not report the subsections as unknown keys.
type toolKeys struct {
	Roots []string `toml:"roots"`
	Allow []string `toml:"allow"`
	Deny  []string `toml:"deny"`
	Core  []string `toml:"core"`
	Exec  any      `toml:"exec"` // read separately
	Web   any      `toml:"web"`  // read separately
}

// tools reads [tools]. A wrong root or bind is dropped. Any other mistake fails closed: one in [tools.exec] denies exec and tmux, one in
// [tools.web] denies web_search, and one in [tools] itself denies every tool.
func (l *loader) tools() {
	var t toolKeys
	// The subsections are decoded on their own, so that a mistake in one does not discard the keys of the others.
	e, w := Default().Tools.Exec, Default().Tools.Web
	n := l.root.child("tools")
	whole := typed(l, n, "tools", &t, func(c *checks, t *toolKeys) {
		t.Roots = checkPaths(c, "roots", t.Roots, "ro", "rw", "foreign")
		l.nested(c.at("roots"), t.Roots)
		checkToolNames(c, "allow", t.Allow)
		checkToolNames(c, "deny", t.Deny)
		checkToolNames(c, "core", t.Core)
	})
	web := typed(l, n.child("web"), "tools.web", &w, checkToolWeb)
	exec := typed(l, n.child("exec"), "tools.exec", &e, checkExec)
	// A list with a mistake cannot be trusted, so nothing is allowed.
	if !whole {
		l.snap.Tools = Tools{Deny: []string{DenyAll}, Exec: e, Web: w}
		return
	}
	if !exec {
		t.Deny = append(t.Deny, "exec", "tmux")
	}
	if !web {
		t.Deny = append(t.Deny, "web_search")
	}
	l.snap.Tools = Tools{Roots: t.Roots, Allow: t.Allow, Deny: t.Deny, Core: t.Core, Exec: e, Web: w}
}

// nested advises when one root is inside another. That is allowed: the inner root has its own mode, and a sandboxed command cannot move the
// folders between them.
func (l *loader) nested(at *node, list []string) {
	// checkPaths has ensured that each root has a colon before its mode.
	path := func(root string) string { return filepath.Clean(root[:strings.LastIndexByte(root, ':')]) }
	for _, inner := range list {
		for _, outer := range list {
			if path(inner) == path(outer) || !strings.HasPrefix(path(inner), strings.TrimSuffix(path(outer), "/")+"/") {
				continue
			}
			l.problems = append(l.problems, Problem{
				File: l.file, Line: at.value.line, Column: at.value.column, Section: "tools", Key: "tools.roots", Advice: true,
				Text: fmt.Sprintf("roots: %s is inside %s", inner, outer), Hint: "the inner root keeps its own mode; commands in the sandbox cannot move the folders between the two",
			})
		}
	}
}

// checkPaths drops elements that are not PATH:MODE with one of the modes.
// A path need not exist: the folder may be made later.
func checkPaths(c *checks, key string, list []string, modes ...string) []string {
	var good []string
	for i, r := range list {
		// The last colon begins the mode. A path may contain colons itself.
		colon := strings.LastIndexByte(r, ':')
		path, mode := r[:max(colon, 0)], r[colon+1:]
		home := path == "~" || strings.HasPrefix(path, "~/")
		if !slices.Contains(modes, mode) || !home && !filepath.IsAbs(path) {
			c.dropped(key, i, "want an absolute path, or one that begins with ~/, followed by :%s, found %q", strings.Join(modes, " or :"), r)
			continue
		}
		good = append(good, r)
	}
	return good
}

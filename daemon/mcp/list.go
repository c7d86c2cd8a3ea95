package mcp

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"hob/config"
	"hob/daemon/netguard"
	"hob/daemon/secret"
	"hob/daemon/text"
	"hob/tools"
	host "hob/tools/mcp"
	"hob/tools/runtime"
)

// Limits of what a server may offer.
const (
	maxTools       = 500
	maxDescription = 16 << 10 // bytes of one description
	maxList        = 2 << 20  // bytes of all tools together
)

// Pinned is what the owner accepts of a server: how it is reached, what it may do, and its tools. Its hash stands for all of that.
type Pinned struct {
	Reach   Reach    `json:"reach"`
	Tools   []Offer  `json:"tools"`              // by name
	LeftOut []string `json:"left_out,omitempty"` // tools that cannot be used, each with the reason
}

// Reach is how a server is reached, and what the owner allows it: its section of the config.
type Reach struct {
	Command  string   `json:"command,omitempty"`
	Install  string   `json:"install,omitempty"`
	Args     []string `json:"args,omitempty"`
	Env      []string `json:"env,omitempty"` // NAME=VALUE, by setting
	Cwd      string   `json:"cwd,omitempty"`
	Binds    []string `json:"binds,omitempty"`
	Network  bool     `json:"network,omitempty"`
	URL      string   `json:"url,omitempty"`
	Headers  []string `json:"headers,omitempty"` // NAME=VALUE, by setting
	ReadOnly []string `json:"read_only,omitempty"`
	Tainted  []string `json:"tainted,omitempty"`
	Issuer   string   `json:"issuer,omitempty"` // of the only authorization server that its sign-in may use
	Client   []string `json:"client,omitempty"` // client_id and, by setting, client_secret
	Free     bool     `json:"free,omitempty"`   // it is a program without the sandbox
	Values   string   `json:"values,omitempty"` // SHA-256 of all values of variables and headers and of the client's secret; "": there are none
	Runs     string   `json:"runs,omitempty"`   // the file that a command is, with its SHA-256; "": a service, or nothing was started yet
}

// Offer is one tool, as the server describes it.
type Offer struct {
	Name        string          `json:"name"`
	As          string          `json:"as,omitempty"` // as hob and the model call it; "": the same
	Description string          `json:"description,omitempty"`
	Input       json.RawMessage `json:"input"`
	Output      json.RawMessage `json:"output,omitempty"`
}

// short is the part of the tool's name in hob after the server's.
func (o Offer) short() string { return cmp.Or(o.As, o.Name) }

// in reports whether a list of the config names the tool. No two tools of a server share a name of either kind.
func (o Offer) in(list []string) bool {
	return slices.Contains(list, o.Name) || slices.Contains(list, o.short())
}

// shown is the tool for people.
func (o Offer) shown() string {
	if o.As == "" {
		return o.Name
	}
	return o.As + " (which the server calls " + quoted(o.Name, maxName) + ")"
}

// reachOf returns the part of a section that the owner accepts. free: the program runs without the sandbox.
func reachOf(c config.MCPServer, free bool) Reach {
	r := Reach{
		Command: c.Command, Install: c.Install, Args: c.Args, Env: settings(c.Env, false), Cwd: c.Cwd, Binds: c.Binds, Network: c.Network, URL: c.URL, Headers: settings(c.Headers, true),
		ReadOnly: slices.Sorted(slices.Values(c.ReadOnly)), Tainted: slices.Sorted(slices.Values(c.Tainted)), Free: free, Issuer: c.Issuer,
	}
	if c.ClientID != "" {
		r.Client = append(r.Client, c.ClientID)
	}
	if c.ClientSecret != "" {
		r.Client = append(r.Client, setting("client_secret", c.ClientSecret, true))
	}
	if len(c.Env)+len(c.Headers)+len(c.ClientSecret) > 0 {
		r.Values = digest(c.Env, c.Headers, c.ClientSecret)
	}
	return r
}

// settings returns variables or headers, by name, as the owner sees them.
func settings(values map[string]string, hidden bool) (list []string) {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		list = append(list, setting(name, values[name], hidden))
	}
	return list
}

// longestSetting limits the characters of a value that is shown.
const longestSetting = 200

// setting shows one value: a reference as it is, and plain text in quotes. Of what may be a secret, and of the rest of a long text, there are
// 4 digits of its hash: enough to see that it has changed, too few to guess it.
func setting(name, value string, hidden bool) string {
	shown := fmt.Sprintf("%q", value)
	switch {
	case secret.IsReference(value):
		shown = value
	case hidden || config.SecretName(name):
		return fmt.Sprintf("%s=(hidden, %.4s)", name, digest(name, value))
	}
	if utf8.RuneCountInString(shown) > longestSetting {
		shown = fmt.Sprintf("%s (all of it: %.4s)", text.Shorten(shown, longestSetting), digest(name, value))
	}
	return name + "=" + shown
}

// digest returns the SHA-256 of texts and maps of texts, in hex. Their printed form has the keys in order.
func digest(values ...any) string { return hashOf(fmt.Appendf(nil, "%q", values)) }

// hashOf returns the SHA-256 of an encoded list, in hex.
func hashOf(list []byte) string {
	sum := sha256.Sum256(list)
	return hex.EncodeToString(sum[:])
}

// maxName limits the bytes of a tool's name.
const maxName = 512

// pin turns what a server lists into what the owner is asked to accept. A tool that cannot be used safely is left out, and named. Of several
// tools with one name none is used: neither of the server's name, nor of that by which hob calls them, whatever their case.
func pin(server string, r Reach, list []*sdk.Tool) (Pinned, error) {
	p := Pinned{Reach: r, Tools: []Offer{}}
	seen := map[string]int{}
	for _, t := range list {
		if t != nil {
			seen[strings.ToLower(host.Short(server, t.Name))]++
		}
	}
	size := 0
	for _, t := range list {
		if t == nil {
			continue
		}
		offer, problem := offerOf(t)
		short := host.Short(server, t.Name)
		if short != t.Name {
			offer.As = short
		}
		if seen[strings.ToLower(short)] > 1 {
			problem = "several tools have this name"
		}
		if problem != "" {
			p.LeftOut = append(p.LeftOut, fmt.Sprintf("%q: %s", text.Shorten(t.Name, 80), problem))
			continue
		}
		if size += len(offer.Name) + len(offer.Description) + len(offer.Input) + len(offer.Output); size > maxList {
			return p, fmt.Errorf("it lists more than %d MB of tools", maxList>>20)
		}
		p.Tools = append(p.Tools, offer)
	}
	slices.SortFunc(p.Tools, func(a, b Offer) int { return strings.Compare(a.Name, b.Name) })
	slices.Sort(p.LeftOut)
	p.LeftOut = slices.Compact(p.LeftOut)
	return p, nil
}

// offerOf checks one tool. The problem is for the owner.
func offerOf(t *sdk.Tool) (o Offer, problem string) {
	o = Offer{Name: t.Name, Description: strings.TrimSpace(t.Description)}
	if _, hidden := invisible(t.Name); hidden || t.Name == "" || len(t.Name) > maxName || strings.ContainsFunc(t.Name, func(c rune) bool { return !unicode.IsPrint(c) }) {
		return o, fmt.Sprintf("its name is empty, has other characters than printable ones, or more than %d bytes", maxName)
	}
	if len(o.Description) > maxDescription {
		return o, fmt.Sprintf("its description has more than %d KB", maxDescription>>10)
	}
	var err error
	if o.Input, err = json.Marshal(t.InputSchema); err != nil {
		return o, "its parameters are no JSON"
	}
	if t.OutputSchema != nil {
		if o.Output, err = json.Marshal(t.OutputSchema); err != nil {
			return o, "its output schema is no JSON"
		}
	}
	var why string
	if o.Input, why = usable(o.Input); why != "" {
		return o, "its parameters: " + why
	}
	if o.Output != nil {
		if o.Output, why = usable(o.Output); why != "" {
			o.Output = nil // what comes back is not checked then; nothing else needs it
		}
	}
	for _, s := range []string{o.Description, spoken(o.Input), spoken(o.Output)} {
		if c, ok := invisible(s); ok {
			return o, fmt.Sprintf("it holds an invisible character, U+%04X", c)
		}
	}
	return o, ""
}

// defs returns the tools of the accepted list.
func (v *server) defs(accepted decision, flat bool) []host.Def {
	p := accepted.list()
	list := make([]host.Def, len(p.Tools))
	for i, t := range p.Tools {
		reads := t.in(p.Reach.ReadOnly)
		list[i] = host.Def{
			Server: v.name, Name: t.Name, As: t.As, Description: t.Description, Input: t.Input, Output: t.Output, Hash: accepted.hash, ReadOnly: reads, Flat: flat && unfit(v.name, t) == "",
			Cleared: reads && v.local() || t.in(p.Reach.Tainted), Goes: v.goes(),
		}
		if t.Description == "" {
			list[i].Description = "(the server does not describe it)"
		}
	}
	return list
}

// unfit says why requests may not contain a tool itself, see tools.Spec.Unfit.
func unfit(server string, t Offer) string {
	return tools.Spec{Name: host.Def{Server: server, Name: t.Name, As: t.As}.Full(), Parameters: t.Input}.Unfit()
}

// behind lists the tools that requests reach through the tool "tool" although the config has flat = true.
func behind(server string, p Pinned) (list []string) {
	for _, t := range p.Tools {
		if why := unfit(server, t); why != "" {
			list = append(list, t.short()+": "+why)
		}
	}
	return list
}

// goes says where the arguments of a call go.
func (v *server) goes() string {
	switch {
	case v.conf.URL != "":
		rest := v.conf.URL[strings.Index(v.conf.URL, "//")+2:]
		h, _, _ := strings.Cut(rest, "/")
		return h
	case v.free:
		return "a program without the sandbox"
	case v.conf.Network:
		return "a program with network"
	}
	return "a program without network"
}

// line is the command line or the address. Of secrets in it there are 4 digits of their hashes, see setting.
func (r Reach) line() string {
	secrets := config.MCPServer{Args: r.Args, URL: r.URL}.Secrets()
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) }) // one may be part of another
	words := append([]string{r.Command + r.Install + r.URL}, r.Args...)
	for i, w := range words {
		for _, s := range secrets {
			w = strings.ReplaceAll(w, s, fmt.Sprintf("(hidden,%.4s)", digest("", s)))
		}
		if words[i] = w; w == "" || strings.ContainsAny(w, " \t\n\"'\\") {
			words[i] = fmt.Sprintf("%q", w)
		}
	}
	return strings.Join(words, " ")
}

// permissions lists what the owner allows the server, for people.
func (r Reach) permissions() (list []string) {
	if r.Runs != "" {
		list = append(list, "it runs "+r.Runs)
	}
	if r.Free {
		list = append(list, "it runs WITHOUT the sandbox: it can read and change whatever you can")
	}
	if r.Network {
		list = append(list, "it may use the network")
	}
	if len(r.Binds) > 0 {
		list = append(list, "it sees "+strings.Join(r.Binds, ", "))
	}
	if r.Cwd != "" {
		list = append(list, "it works in "+r.Cwd+" and may write there")
	}
	if len(r.Env) > 0 {
		list = append(list, "it gets the variables "+strings.Join(r.Env, ", "))
	}
	for _, v := range r.Env {
		if name, _, _ := strings.Cut(v, "="); runtime.Steering(name) {
			list = append(list, name+" can make it run other code than its command line says")
		}
	}
	if len(r.Headers) > 0 {
		list = append(list, "it gets the headers "+strings.Join(r.Headers, ", "))
	}
	if r.Issuer != "" {
		list = append(list, "hob signs in at "+r.Issuer+" only")
	}
	if len(r.Client) > 0 {
		list = append(list, "hob signs in there as the client "+strings.Join(r.Client, " "))
	}
	if len(r.ReadOnly) > 0 {
		list = append(list, "you say that these only read: "+strings.Join(r.ReadOnly, ", "))
	}
	if len(r.Tainted) > 0 {
		list = append(list, "WITHOUT ASKING, also after hob has read somebody else's text, it gets calls of "+strings.Join(r.Tainted, ", ")+": it may then receive anything that hob knows")
	}
	return list
}

// shownAround is how many characters of the unchanged text are shown before and after a change.
const shownAround = 40

// diff lists what changed from one list to the next, for people: nothing that the model will read, and that the owner has not accepted before,
// is left out. was is nil for a server that is new.
func diff(was *Pinned, now Pinned) (lines []string) {
	if was == nil {
		for _, t := range now.Tools {
			lines = append(lines, now.Reach.inFull("- ", t)...)
		}
		return append(lines, leftOut(now.LeftOut)...)
	}
	if a, b := was.Reach.line(), now.Reach.line(); a != b {
		lines = append(lines, netguard.Visible("it is reached by "+b+", before by "+a))
	}
	if a, b := was.Reach.permissions(), now.Reach.permissions(); !slices.Equal(a, b) {
		lines = append(lines, netguard.Visible("now: "+orNothing(b)), netguard.Visible("before: "+orNothing(a)))
	}
	old := map[string]Offer{}
	for _, t := range was.Tools {
		old[t.Name] = t
	}
	for _, t := range now.Tools {
		before, ok := old[t.Name]
		delete(old, t.Name)
		if !ok {
			lines = append(lines, now.Reach.inFull("- new: ", t)...)
			continue
		}
		lines = append(lines, changes(before, t)...)
	}
	for _, name := range slices.Sorted(maps.Keys(old)) {
		lines = append(lines, "- gone: "+old[name].shown())
	}
	if !slices.Equal(was.LeftOut, now.LeftOut) {
		lines = append(lines, leftOut(now.LeftOut)...)
	}
	return lines
}

// inFull shows one tool with all that the model can read about it, and what the section of its server says about it.
func (r Reach) inFull(before string, t Offer) []string {
	lines := []string{before + t.shown() + ": " + quoted(t.Description, math.MaxInt), "    takes " + quoted(schemaText(t.Input), math.MaxInt)}
	if t.Output != nil {
		lines = append(lines, "    returns "+quoted(schemaText(t.Output), math.MaxInt))
	}
	if t.in(r.Tainted) {
		lines = append(lines, "    WITHOUT ASKING it gets calls, also after hob has read somebody else's text: your config names it in tainted")
	}
	if t.in(r.ReadOnly) {
		lines = append(lines, "    you say that it only reads: your config names it in read_only")
	}
	return lines
}

// changes says what is different about one tool.
func changes(was, now Offer) (lines []string) {
	name := "- " + now.short()
	if was.As != now.As {
		lines = append(lines, "- hob calls "+was.short()+" now "+now.shown())
	}
	if was.Description != now.Description {
		lines = append(lines, name+" says "+difference(was.Description, now.Description))
	}
	if !bytes.Equal(was.Input, now.Input) {
		lines = append(lines, name+" takes "+difference(schemaText(was.Input), schemaText(now.Input)))
	}
	if !bytes.Equal(was.Output, now.Output) {
		lines = append(lines, name+" returns "+difference(schemaText(was.Output), schemaText(now.Output)))
	}
	return lines
}

// difference shows two texts from shortly before the first character that differs to shortly after the last one.
func difference(was, now string) string {
	a, b := []rune(oneLine(was)), []rune(oneLine(now))
	head, tail := 0, 0
	for head < min(len(a), len(b)) && a[head] == b[head] {
		head++
	}
	for tail < min(len(a), len(b))-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	if len(a) == len(b) && head == len(a) {
		return "the same with other blanks or line breaks"
	}
	part := func(s []rune) string {
		from, to := max(head-shownAround, 0), min(len(s)-tail+shownAround, len(s))
		text := string(s[from:to])
		if from > 0 {
			text = "…" + text
		}
		if to < len(s) {
			text += "…"
		}
		return quoted(text, math.MaxInt)
	}
	return part(b) + ", before " + part(a)
}

// schemaText is a schema as the model reads it. The hash is that of raw, in which <, > and & are escaped.
func schemaText(raw json.RawMessage) string {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var schema any
	if d.Decode(&schema) != nil {
		return string(raw)
	}
	plain, err := tools.Canonical(schema)
	if err != nil {
		return string(raw)
	}
	return string(plain)
}

func leftOut(list []string) (lines []string) {
	for _, l := range list {
		lines = append(lines, "- left out: "+l)
	}
	return lines
}

func orNothing(list []string) string {
	if len(list) == 0 {
		return "nothing besides"
	}
	return strings.Join(list, "; ")
}

// quoted shows text of others on one line, in quotes that it cannot leave.
func quoted(s string, n int) string {
	if s == "" {
		return "(no description)"
	}
	return "“" + netguard.Visible(strings.Map(noQuote, text.Shorten(oneLine(s), n))) + "”"
}

// oneLine returns a text with single spaces and without line breaks.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// noQuote replaces what could be read as one of hob's own quotes: after the second of them the rest of a server's text would look like hob's words.
func noQuote(c rune) rune {
	switch {
	case strings.ContainsRune("“”„‟❝❞〝〞〟＂🙶🙷🙸⹂″‶ˮʺ˝", c):
		return '"'
	case strings.ContainsRune("‘’‚‛❛❜′‵ʹˈ", c):
		return '\''
	}
	return c
}

// longestQuestion limits the characters of a question. Nobody reads more than that in a chat, and some channels cannot send it.
const longestQuestion = 6000

// changeText is what the owner is told about another list. Only if all of it fits he may answer with yes.
func changeText(server string, was, now Pinned, hash string) (text string, whole bool) {
	head := fmt.Sprintf("The MCP server %s (%s) offers something else than you accepted. It is off.", server, netguard.Visible(now.Reach.line()))
	lines := netguard.Defang(strings.Join(diff(&was, now), "\n"))
	text = head + " Do you accept the change? What is in quotes is its own text.\n" + lines + "\nhash " + hash[:12]
	if utf8.RuneCountInString(text) <= longestQuestion {
		return text, true
	}
	all := []rune(head + " What is in quotes is its own text.\n" + lines)
	return fmt.Sprintf("%s…\n%d characters are NOT shown. See all of it with: hob --json mcp test %s. To accept it: hob mcp accept %s", string(all[:longestQuestion]), len(all)-longestQuestion, server, server), false
}

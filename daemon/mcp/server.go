package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"hob/config"
	"hob/daemon/api"
	"hob/daemon/oauth"
	"hob/daemon/sandbox"
)

// After failures.
const (
	lastPause = 5 * time.Minute
	toldAfter = 3 // failures in a row after which the owner is told
)

// server is a server of the config.
type server struct {
	svc     *Service
	name    string
	conf    config.MCPServer
	account *oauth.Account // nil: it has none
	stray   strays
	surroundings

	starting chan struct{} // has a value while nobody starts or ends the session

	mu       sync.Mutex
	accepted decision
	pending  api.MCPRowState // what the owner said about a newer list: asked or refused; "": there is none
	session  *session        // nil: it is not connected
	fault    string          // why the last attempt failed
	failures int             // in a row
	until    time.Duration   // monotonic time before which it is not tried again
	denied   string          // why the service refused the last request; "": it did not
	gone     string          // why it must not be used any more; "": it may
}

// decision is a list that the owner has accepted.
type decision struct {
	hash    string        // "": none
	list    func() Pinned // decodes it once, at its first use: most starts of hob need the tools of no server
	damaged func() bool   // it cannot be decoded, so it has no tools
	holds   bool          // the section of the config is as it was then
}

// decided makes a decision of a row. Of the list it decodes only how the server is reached, which comes first. is is how it is reached now; bad gets the
// error of a list that cannot be decoded, which has no tools.
func decided(r api.MCPRow, is Reach, bad func(error)) decision {
	var was Reach
	d := json.NewDecoder(strings.NewReader(r.List))
	_, brace := d.Token()
	_, name := d.Token()
	whole := errors.Join(brace, name, d.Decode(&was))
	list := sync.OnceValues(func() (p Pinned, err error) {
		if err = whole; err == nil {
			err = json.Unmarshal([]byte(r.List), &p)
		}
		if err != nil {
			bad(err)
			return Pinned{}, err
		}
		return p, nil
	})
	return decision{
		hash: r.Hash, holds: whole == nil && sameReach(was, is),
		list:    func() Pinned { p, _ := list(); return p },
		damaged: func() bool { _, err := list(); return err != nil },
	}
}

// none is the decision about a server whose list was never accepted.
func none() decision {
	return decision{list: func() Pinned { return Pinned{} }, damaged: func() bool { return false }}
}

func newServer(s *Service, name string, c *config.Snapshot) *server {
	one := c.MCP.Servers[name]
	v := &server{svc: s, name: name, conf: one, surroundings: surroundingsOf(c, name), starting: make(chan struct{}, 1), accepted: none()}
	v.starting <- struct{}{}
	v.stray.log = func(text string) { s.Log.Warn("an MCP server sent what is no message", "server", name, "text", text) }
	v.account = newAccount(v)
	return v
}

// surroundings is what confines a program besides its own section. A program ends when that changes.
type surroundings struct {
	free bool   // it is a program, and the owner has switched the sandbox off
	seen string // the folders that others see, if the program may write to some
}

func surroundingsOf(c *config.Snapshot, server string) surroundings {
	s := c.MCP.Servers[server]
	r := surroundings{free: s.URL == "" && c.Tools.Exec.Sandbox == string(sandbox.Off)}
	if s.Writes() {
		r.seen = strings.Join(c.SeenBesides(server), "\n")
	}
	return r
}

// local reports whether what the server gets stays on this machine: it is a program that the sandbox keeps from the network.
func (v *server) local() bool { return v.conf.Local() && !v.free }

// decide takes the owner's decisions from the rows, which are in the order of their time.
func (v *server) decide(rows []api.MCPRow) {
	v.mu.Lock()
	defer v.mu.Unlock()
	was := v.accepted.hash
	v.accepted, v.pending = none(), ""
	for _, r := range rows {
		switch {
		case r.Server != v.name:
		case r.State == api.MCPAccepted:
			v.accepted = decided(r, reachOf(v.conf, v.free), func(err error) {
				v.svc.Log.Error("an accepted list of an MCP server cannot be read", "server", v.name, "err", err)
			})
		default:
			v.pending = r.State
		}
	}
	if was != v.accepted.hash {
		v.fault, v.failures, v.until = "", 0, 0
	}
}

// decision returns what the owner has accepted.
func (v *server) decision() decision {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.accepted
}

// usable returns the accepted list, or says why the tools of the server cannot be called. A server that failed stays usable: its calls say
// when it is tried again.
func (v *server) usable() (d decision, why string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch {
	case v.pending == api.MCPAsked:
		why = fmt.Sprintf("what the MCP server %s offers has changed, and you have not accepted it yet: answer the question, or use hob mcp accept %s", v.name, v.name)
	case v.pending == api.MCPRefused:
		why = fmt.Sprintf("what the MCP server %s offers has changed, and you did not accept it: hob mcp accept %s", v.name, v.name)
	case v.accepted.hash == "":
		why = fmt.Sprintf("you have not accepted the tools of the MCP server %s yet: hob mcp accept %s", v.name, v.name)
	case v.accepted.damaged():
		why = fmt.Sprintf("the tools of the MCP server %s that you accepted cannot be read from the database any more: hob mcp accept %s", v.name, v.name)
	case !v.accepted.holds:
		why = fmt.Sprintf("the section of the MCP server %s in config.toml is not what you accepted: hob mcp accept %s", v.name, v.name)
	}
	return v.accepted, why
}

// sameReach compares two sections. The program's file is compared when it is started: to read it here would cost too much.
func sameReach(a, b Reach) bool {
	a.Runs, b.Runs = "", ""
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}

// view is the server as the owner sees it.
func (v *server) view(whole bool) api.MCPServer {
	accepted, why := v.usable()
	reach := reachOf(v.conf, v.free)
	out := api.MCPServer{Name: v.name, State: "ready", Reach: reach.line(), Version: v.conf.Version(), Goes: v.goes(), Hash: accepted.hash, Tools: shownTools(accepted.list(), whole), LeftOut: accepted.list().LeftOut, Problem: why, Skipped: v.stray.said()}
	if v.svc.Config().MCP.Flat {
		out.Behind = behind(v.name, accepted.list())
	}
	for i := range out.Tools {
		out.Tools[i].Name = v.name + "__" + out.Tools[i].Name
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	switch off := v.off(); {
	case v.pending != "":
		out.State = string(v.pending)
	case accepted.hash == "":
		out.State = "new"
	case why != "":
		out.State = "changed"
	case off != "":
		out.State, out.Problem = "off", off
	case v.session != nil:
		out.State = "running"
	}
	if err := v.absent(); why != "" && err != nil {
		out.Problem = err.Error() + "; " + why
	}
	return out
}

// off returns why an accepted server cannot be used now, "" if nothing is known against it. The caller holds mu.
func (v *server) off() string {
	switch {
	case v.denied != "":
		return "it refuses hob: " + v.denied
	case v.session != nil:
		return ""
	case v.failures > 0:
		return v.pause()
	}
	if err := v.absent(); err != nil {
		return err.Error()
	}
	return ""
}

// absent says why the program of a server could not be started now. Only a start reads the whole program.
func (v *server) absent() (err error) {
	switch {
	case v.conf.Install != "":
		_, err = v.svc.Installs().manifest(v.name, v.conf.Install)
	case v.conf.Command != "":
		_, err = v.lookUp(v.conf.Command)
	}
	return err
}

// pause says when a failed server is tried again, and why it failed.
func (v *server) pause() string {
	left := max(v.until-v.svc.Clock.Mono(), 0).Round(time.Second)
	text := "it failed: " + v.fault
	if v.failures > 1 {
		text = fmt.Sprintf("it failed %d times in a row: %s", v.failures, v.fault)
	}
	if left > 0 {
		text += fmt.Sprintf("; it is tried again in %s", left)
	}
	return text
}

// errOff is the error of a server that failed a short while ago.
var errOff = errors.New("it is off")

// errChanged is the error of a server that offers something else than the owner accepted.
var errChanged = errors.New("what it offers is not what the owner accepted")

// ready returns a session that offers exactly what the owner accepted under hash. It starts the server if it does not run.
func (v *server) ready(ctx context.Context, hash string) (*session, error) {
	accepted, why := v.usable()
	if why != "" {
		return nil, fmt.Errorf("%w: %s", errOff, why)
	}
	if hash != "" && hash != accepted.hash {
		return nil, fmt.Errorf("%w: its tools have changed since this call was made", errChanged)
	}
	select { // one caller starts it, the others wait for that
	case <-v.starting:
		defer func() { v.starting <- struct{}{} }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if s := v.live(); s != nil {
		got, again, err := s.recheck(ctx)
		switch {
		case err == nil && got.hash == accepted.hash:
			return s, nil
		case err == nil && again:
			v.drop(s)
			s.leave("its tools are not what the owner accepted")
			return nil, v.changed(ctx, accepted, got)
		case ctx.Err() != nil:
			return nil, ctx.Err()
		}
		v.drop(s) // another one is started
		s.leave("its list of tools could not be read, or the owner has accepted another one")
	}
	v.mu.Lock()
	gone, wait, pause := v.gone, v.until-v.svc.Clock.Mono(), ""
	if wait > 0 {
		pause = v.pause()
	}
	v.mu.Unlock()
	switch {
	case gone != "":
		return nil, fmt.Errorf("%w: %s", errOff, gone)
	case pause != "":
		return nil, fmt.Errorf("%w: %s", errOff, pause)
	}
	s, got, err := v.start(ctx)
	if err != nil {
		if err = v.failed(ctx, err); isAnswer(err) {
			err = fmt.Errorf("%w: %v", errOff, err) //nolint:errorlint // it answered the start, not the call
		}
		return nil, err
	}
	if got.hash != accepted.hash {
		s.end("its tools are not what the owner accepted")
		return nil, v.changed(ctx, accepted, got)
	}
	return s, v.keep(s)
}

// live returns the session if there is one.
func (v *server) live() *session {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.session != nil && v.session.ended() {
		v.session = nil
	}
	return v.session
}

// keep makes a session the one that calls use.
func (v *server) keep(s *session) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.gone != "" {
		s.end(v.gone)
		return fmt.Errorf("%w: %s", errOff, v.gone)
	}
	v.session = s
	return nil
}

// drop forgets a session that has ended.
func (v *server) drop(s *session) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.session == s {
		v.session = nil
	}
}

// worked notes a call that the server answered.
func (v *server) worked() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.fault, v.failures, v.until, v.denied = "", 0, 0, ""
}

// failed notes a failure and begins the pause before the next attempt. A caller that gave up is no failure of the server.
func (v *server) failed(ctx context.Context, err error) error {
	if no, ok := refused(err); ok { // a sign-in is missing, or may not do what it was to do
		v.mu.Lock()
		first := v.denied == ""
		v.denied = firstLine(no.Error())
		v.mu.Unlock()
		if first && no.err != nil { // else a question about the sign-in tells it
			v.svc.Tell(context.WithoutCancel(ctx), fmt.Sprintf("mcp:%s:denied:%d", v.name, v.svc.Clock.Wall().Unix()/86400),
				fmt.Sprintf("The MCP server %s refuses hob: “%s”. hob mcp test %s tries it.", v.name, firstLine(no.Error()), v.name))
		}
		return no
	}
	if ctx.Err() != nil && !errors.Is(context.Cause(ctx), errSlow) {
		return err
	}
	v.mu.Lock()
	v.failures++
	v.fault = firstLine(err.Error())
	pause := v.svc.Limits.Pause << min(v.failures-1, 20)
	v.until = v.svc.Clock.Mono() + min(pause, lastPause)
	n, fault := v.failures, v.fault
	v.mu.Unlock()
	v.svc.Log.Warn("an MCP server failed", "server", v.name, "failures", n, "err", err)
	if n == toldAfter {
		v.svc.Tell(context.WithoutCancel(ctx), fmt.Sprintf("mcp:%s:%d", v.name, v.svc.Clock.Wall().Unix()/3600),
			fmt.Sprintf("The MCP server %s failed %d times in a row, and is off for a while: “%s”. hob mcp test %s tries it.", v.name, n, fault, v.name))
	}
	return err
}

// changed switches the server off and asks the owner about what it offers now.
func (v *server) changed(ctx context.Context, was decision, now offered) error {
	text, whole := changeText(v.name, was.list(), now.list, now.hash)
	row := api.MCPRow{Server: v.name, Hash: now.hash, List: string(now.raw), State: api.MCPAsked}
	if !whole { // nobody accepts what he has not seen
		row.State = api.MCPRefused
	}
	if err := v.svc.Rows.AskMCP(context.WithoutCancel(ctx), text, row); err != nil {
		return err
	}
	if _, err := v.svc.renewed(context.WithoutCancel(ctx), v); err != nil {
		return err
	}
	return fmt.Errorf("%w; the owner was told", errChanged)
}

// retire ends the server for good.
func (v *server) retire(why string) {
	v.mu.Lock()
	s := v.session
	v.session = nil
	if why != "you removed it" {
		v.gone = why
	}
	v.mu.Unlock()
	if s != nil {
		s.end(why)
	}
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line[:min(len(line), 500)]
}

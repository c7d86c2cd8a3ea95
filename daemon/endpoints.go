package daemon

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"regexp"

	"hob/channels"
	"hob/config"
	"hob/daemon/agent"
	"hob/daemon/api"
	"hob/daemon/api/server"
	"hob/daemon/artifacts"
	"hob/daemon/event"
	"hob/daemon/store"
	"hob/daemon/sys"
)

// tokenLength is the length of an endpoint's token in characters of 5 bits each.
const tokenLength = 52

// endpoints are the programs with tokens of their own, and their requests for chat completions. The token names the program, the config says how far it is trusted.
type endpoints struct {
	rows      store.Endpoints
	settings  store.Settings
	inbox     store.Inbox
	artifacts artifacts.Store
	thread    *agent.Thread
	ids       sys.IDs
	config    func() *config.Snapshot
	address   string // of the API
}

var (
	_ server.Clients = endpoints{}
	_ server.Chats   = endpoints{}
)

// newEndpoints makes the endpoints of a daemon whose thread is made.
func newEndpoints(d *daemon) endpoints {
	return endpoints{d.store.Endpoints(), d.store.Settings, d.store.Inbox, d.artifacts, d.thread, d.ids, d.config, d.address}
}

// endpointRoutes add, list and remove endpoints.
//
// ended ends what other parts do for a program that is removed.
func endpointRoutes(e endpoints, ended func(id int64) error) []server.Route {
	return []server.Route{
		server.ListAll(api.Endpoints, e.list),
		server.DoPlain(api.AddEndpoint, e.add),
		server.Change(api.RemoveEndpoint, func(ctx context.Context, name string) error { return e.remove(ctx, name, ended) }),
	}
}

// trusted adds the trust and the limit that the config gives. A section with a mistake gives no trust.
func (e endpoints) trusted(c api.Endpoint) api.Endpoint {
	set, ok := e.config().Endpoint[c.Name]
	if !ok {
		set = config.DefaultEndpoint()
	}
	c.Trust, c.CallsPerMinute = event.Known, set.CallsPerMinute
	if set.Trust == string(event.Owner) {
		c.Trust = event.Owner
	}
	return c
}

func (e endpoints) list(ctx context.Context) ([]api.Endpoint, error) {
	list, err := e.rows.List(ctx)
	for i := range list {
		list[i] = e.trusted(list[i])
	}
	return list, err
}

// add makes an endpoint. Only the hash of its token is stored.
func (e endpoints) add(ctx context.Context, name string) (api.MadeEndpoint, error) {
	if !regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,31}$`).MatchString(name) {
		return api.MadeEndpoint{}, event.NewFault(event.Invalid, "1 to 32 of a-z, 0-9, underscore and hyphen; it begins with a letter or a digit", "%q is not a name of an endpoint", name)
	}
	token := "hob_" + e.ids.Code(tokenLength)
	row, err := e.rows.Add(ctx, name, tokenHash(token))
	return api.MadeEndpoint{Endpoint: e.trusted(row), URL: "http://" + e.address + "/v1", Token: token}, err
}

// tokenHash is the form in which a token is stored: its SHA-256 in hex. A token has 260 random bits, so it needs no salt.
func tokenHash(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// Find returns the endpoint with a token.
func (e endpoints) Find(ctx context.Context, token string) (api.Endpoint, error) {
	c, err := e.rows.Find(ctx, tokenHash(token))
	return e.trusted(c), err
}

// Serves reports why a program is not served now. In safe mode only the owner is, and a request of somebody else would wait until that ends.
func (e endpoints) Serves(ctx context.Context, client api.Endpoint) error {
	safe, err := e.settings.SafeMode(ctx)
	if err == nil && safe != "" && client.Trust != event.Owner {
		err = event.NewFault(event.Unavailable, "the owner ends it with hob safe-mode off", "hob is in safe mode")
	}
	return err
}

// Begin stores a request.
func (e endpoints) Begin(ctx context.Context, o api.ChatOpening) (api.ChatRequest, error) {
	return e.rows.Begin(ctx, o)
}

// remove takes a token away, and ends what goes on for its program.
func (e endpoints) remove(ctx context.Context, name string, ended func(id int64) error) error {
	c, err := e.rows.Remove(ctx, name)
	if err != nil {
		return err
	}
	halt := func() (int64, error) { return e.rows.Halt(context.WithoutCancel(ctx), c) }
	return errors.Join(ended(c.ID), e.stop(halt))
}

// Accept commits an input with its files. If its program is removed at the same moment, the input ends at once.
func (e endpoints) Accept(ctx context.Context, in event.In, files []api.Attachment) error {
	if err := e.accept(ctx, in, files); err != nil {
		return err
	}
	gone, err := e.rows.Gone(ctx, in.ExtID)
	if err != nil || !gone {
		return err
	}
	return e.Abort(ctx, in.ExtID)
}

func (e endpoints) accept(ctx context.Context, in event.In, files []api.Attachment) error {
	if len(files) == 0 {
		_, err := e.inbox.Accept(ctx, []event.In{in}, nil)
		return err
	}
	taken, contents := map[string]bool{}, make([][]byte, len(files))
	for i, f := range files {
		in.Parts, contents[i] = append(in.Parts, channels.Part(f.Name, f.MIME, f.Data, taken)), f.Data
	}
	_, err := e.artifacts.AcceptFiles(ctx, in, contents)
	return err
}

// Progress returns how far a request has come.
func (e endpoints) Progress(ctx context.Context, ext string) (api.ChatProgress, error) {
	return e.rows.Progress(ctx, ext)
}

// Told notes what a client got in place of an answer.
func (e endpoints) Told(ctx context.Context, ext, notice string) error {
	return e.rows.Told(ctx, ext, notice)
}

// Abort ends a request whose client went away.
func (e endpoints) Abort(ctx context.Context, ext string) error {
	return e.stop(func() (int64, error) { return e.rows.Abort(ctx, ext) })
}

// stop ends turns, and stops the one that runs. A turn may begin between the look at the rows and the stop, so it looks again.
func (e endpoints) stop(halt func() (running int64, err error)) error {
	for range 3 {
		running, err := halt()
		if err != nil || running == 0 || e.thread.Stop(running) == running {
			return err
		}
	}
	return nil
}

// tainted notes that a call by MCP has brought foreign text to a program: what it asks for from then on may come from that text.
func (e endpoints) tainted(ctx context.Context, actor agent.Actor, from string) error {
	return e.rows.Tainted(ctx, actor.Reply, from)
}
